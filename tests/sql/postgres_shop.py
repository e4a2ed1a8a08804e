"""A small shop for the PostgreSQL tests, with what attackers like to find there: functions that write, behind
an operator, a cast, a domain and a row of a table."""

EXTENSIONS = ("dblink", "tablefunc", "xml2", "hstore", "pg_trgm", "citext", "pgcrypto", "lo")

SHOP = """
DROP SCHEMA IF EXISTS shop CASCADE;
DROP SCHEMA IF EXISTS "Odd Schema" CASCADE;
CREATE SCHEMA shop;
CREATE SCHEMA "Odd Schema";
CREATE TYPE shop.order_status AS ENUM ('new', 'paid', 'shipped', 'returned');
CREATE TYPE shop.address AS (street text, city text);
CREATE SEQUENCE shop.ticket;
CREATE TABLE shop.audit (at timestamptz DEFAULT now(), what text);
CREATE TABLE shop.customers (
    id integer PRIMARY KEY, name text NOT NULL, email text UNIQUE, country char(2), tags text[] DEFAULT '{}',
    home shop.address, prefs jsonb DEFAULT '{}', update_time timestamptz DEFAULT '2024-01-01');
CREATE TABLE shop.products (
    id integer PRIMARY KEY, name text, category text, price numeric(10, 2), stock integer, attributes hstore,
    description text, "order" integer DEFAULT 0);
CREATE TABLE shop.orders (
    id integer PRIMARY KEY, customer_id integer REFERENCES shop.customers, status shop.order_status,
    total numeric(10, 2), created_at timestamptz, items jsonb, valid daterange, ip inet, note xml);
CREATE TABLE shop.categories (id integer PRIMARY KEY, parent_id integer, name text);
CREATE TABLE "Odd Schema"."Odd Table" ("Id" integer, "select" text, "a b" text);
INSERT INTO shop.customers SELECT n, 'Customer ' || n, 'c' || n || '@example.org',
    (ARRAY['DE', 'FR', 'US'])[n % 3 + 1], ARRAY['a', 'b'], ROW('Street ' || n, 'City')::shop.address,
    jsonb_build_object('lang', 'de', 'n', n) FROM generate_series(1, 20) n;
INSERT INTO shop.products SELECT n, 'Product ' || n, (ARRAY['book', 'toy'])[n % 2 + 1], n * 1.5, n,
    'color=>red', 'A fat cat sat on product ' || n FROM generate_series(1, 20) n;
INSERT INTO shop.orders SELECT n, n % 20 + 1, (ARRAY['new', 'paid', 'shipped'])[n % 3 + 1]::shop.order_status,
    n * 10, timestamptz '2024-01-01' + n * interval '1 day', jsonb_build_array(jsonb_build_object('sku', n)),
    daterange('2024-01-01', '2024-02-01'), '10.0.0.1', '<n a="1">x</n>' FROM generate_series(1, 40) n;
INSERT INTO shop.categories VALUES (1, NULL, 'all'), (2, 1, 'books'), (3, 2, 'novels');
COMMENT ON TABLE shop.categories IS 'a tree';
CREATE VIEW shop.paid AS SELECT * FROM shop.orders WHERE status = 'paid';
CREATE FUNCTION shop.f_write(what text) RETURNS text LANGUAGE sql
    AS $$ INSERT INTO shop.audit (what) VALUES (what) RETURNING what $$;
CREATE FUNCTION shop.f_number(what integer) RETURNS integer LANGUAGE sql
    AS $$ INSERT INTO shop.audit (what) VALUES (what::text) RETURNING 1 $$;
CREATE FUNCTION shop.f_check(what text) RETURNS boolean LANGUAGE plpgsql
    AS $$ BEGIN INSERT INTO shop.audit (what) VALUES (what); RETURN true; END $$;
CREATE FUNCTION shop.lower(integer) RETURNS integer LANGUAGE sql
    AS $$ INSERT INTO shop.audit (what) VALUES ('lower') RETURNING 1 $$;
CREATE FUNCTION shop."LOWER"(text) RETURNS text LANGUAGE sql
    AS $$ INSERT INTO shop.audit (what) VALUES ('LOWER') RETURNING what $$;
CREATE FUNCTION shop.filter(integer) RETURNS integer LANGUAGE sql
    AS $$ INSERT INTO shop.audit (what) VALUES ('filter') RETURNING 1 $$;
CREATE FUNCTION shop.two(integer, integer) RETURNS integer LANGUAGE sql
    AS $$ INSERT INTO shop.audit (what) VALUES ('two') RETURNING 1 $$;
CREATE OR REPLACE FUNCTION public.conflict(integer) RETURNS boolean LANGUAGE plpgsql
    AS $$ BEGIN INSERT INTO shop.audit (what) VALUES ('word'); RETURN true; END $$;
CREATE OR REPLACE FUNCTION public.columns(integer) RETURNS boolean LANGUAGE plpgsql
    AS $$ BEGIN INSERT INTO shop.audit (what) VALUES ('word'); RETURN true; END $$;
CREATE OR REPLACE FUNCTION public.repeatable(integer) RETURNS boolean LANGUAGE plpgsql
    AS $$ BEGIN INSERT INTO shop.audit (what) VALUES ('word'); RETURN true; END $$;
CREATE OR REPLACE FUNCTION public."ilike"(text, text) RETURNS boolean LANGUAGE plpgsql
    AS $$ BEGIN INSERT INTO shop.audit (what) VALUES ('word'); RETURN true; END $$;
CREATE OR REPLACE FUNCTION public.f_text(text) RETURNS boolean LANGUAGE plpgsql
    AS $$ BEGIN INSERT INTO shop.audit (what) VALUES ('word'); RETURN true; END $$;
CREATE OR REPLACE FUNCTION shop.operator(integer) RETURNS boolean LANGUAGE plpgsql
    AS $$ BEGIN INSERT INTO shop.audit (what) VALUES ('word'); RETURN true; END $$;
CREATE OPERATOR shop.@#@ (LEFTARG = integer, RIGHTARG = integer, FUNCTION = shop.two);
CREATE FUNCTION shop.f_both(text, integer) RETURNS text LANGUAGE sql
    AS $$ INSERT INTO shop.audit (what) VALUES ($1) RETURNING what $$;
CREATE OPERATOR shop.+ (LEFTARG = text, RIGHTARG = integer, FUNCTION = shop.f_both);
CREATE DOMAIN shop.checked AS text CHECK (shop.f_check(VALUE));
CREATE TYPE shop.wrapped AS (what text);
CREATE FUNCTION shop.wrap(integer) RETURNS shop.wrapped LANGUAGE plpgsql
    AS $$ BEGIN INSERT INTO shop.audit (what) VALUES ('wrap'); RETURN ROW('x')::shop.wrapped; END $$;
CREATE CAST (integer AS shop.wrapped) WITH FUNCTION shop.wrap(integer);
CREATE PROCEDURE shop.p_write() LANGUAGE sql AS $$ INSERT INTO shop.audit (what) VALUES ('p') $$;
CREATE MATERIALIZED VIEW shop.totals AS SELECT sum(total) FROM shop.orders;
"""
