-- The database that DuckDB's corpus and its fuzzer speak of. Made anew for each run.
CREATE TABLE customers (
  id INTEGER PRIMARY KEY, name VARCHAR NOT NULL, email VARCHAR, city VARCHAR, country VARCHAR, created_at TIMESTAMP,
  update_time TIMESTAMP, "delete" BOOLEAN DEFAULT false
);
CREATE TABLE products (
  id INTEGER PRIMARY KEY, name VARCHAR, category VARCHAR, price DECIMAL(10, 2), stock INTEGER, tags VARCHAR[], attributes JSON
);
CREATE TABLE orders (
  id INTEGER PRIMARY KEY, customer_id INTEGER, status VARCHAR, total DECIMAL(10, 2), ordered_at DATE, note VARCHAR
);
CREATE TABLE order_items (order_id INTEGER, product_id INTEGER, quantity INTEGER, price DECIMAL(10, 2), PRIMARY KEY (order_id, product_id));
CREATE TABLE events (id INTEGER, happened_at TIMESTAMPTZ, kind VARCHAR, payload STRUCT(page VARCHAR, ms INTEGER), marks MAP(VARCHAR, INTEGER));
CREATE TABLE "order details" ("1st" INTEGER, "total/sum" INTEGER, "größe" INTEGER);
CREATE TABLE secrets (id INTEGER PRIMARY KEY, word VARCHAR);
CREATE SCHEMA sales;
CREATE TABLE sales.regions (id INTEGER, name VARCHAR);
CREATE INDEX orders_by_status ON orders (status);
CREATE VIEW big_orders AS SELECT * FROM orders WHERE total > 50;
CREATE SEQUENCE order_numbers START 100;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE MACRO add_tax(x) AS x * 1.2;
CREATE MACRO next_number() AS nextval('order_numbers');
CREATE MACRO read_secret() AS (SELECT word FROM secrets LIMIT 1);
CREATE MACRO rename(x) AS nextval('order_numbers');
CREATE MACRO exclude(x) AS nextval('order_numbers');
CREATE MACRO rollup(x) AS nextval('order_numbers');
CREATE MACRO geometry(x) AS nextval('order_numbers');
CREATE MACRO "try_cast"(x) AS nextval('order_numbers');
CREATE MACRO "ilike"(x) AS nextval('order_numbers');
CREATE MACRO sample(x) AS TABLE SELECT nextval('order_numbers');
CREATE MACRO orders_of(c) AS TABLE SELECT * FROM orders WHERE customer_id = c;
INSERT INTO customers (id, name, email, city, country, created_at) VALUES
  (1, 'Ada', 'ada@example.com', 'London', 'GB', '2023-01-05 10:00:00'),
  (2, 'Björn', 'bjorn@example.com', 'Malmö', 'SE', '2023-06-01 12:30:00'),
  (3, 'O''Hara', NULL, 'Cork', 'IE', '2024-02-29 00:00:00'),
  (4, 'Émile', 'emile@example.com', 'Lyon', 'FR', '2024-03-01 08:15:00');
INSERT INTO products VALUES
  (1, 'Espresso', 'coffee', 8.50, 10, ['dark', 'beans'], '{"roast": "dark", "sizes": [250, 500]}'),
  (2, 'Filter', 'coffee', 7.00, 0, ['light'], '{"roast": "light"}'),
  (3, 'Grinder', 'tools', 89.00, 3, [], NULL);
INSERT INTO orders VALUES
  (1, 1, 'paid', 25.50, '2024-01-10', NULL), (2, 1, 'pending', 89.00, '2024-02-11', 'gift; wrap -- it'),
  (3, 2, 'paid', 14.00, '2024-02-12', ''), (4, 3, 'cancelled', 7.00, '2024-03-13', 'DROP TABLE orders');
INSERT INTO order_items VALUES (1, 1, 3, 8.50), (2, 3, 1, 89.00), (3, 2, 2, 7.00), (4, 2, 1, 7.00);
INSERT INTO events VALUES
  (1, '2024-05-01 10:00:00+00', 'view', {'page': '/home', 'ms': 12}, MAP {'a': 1}),
  (2, '2024-05-01 11:30:00+00', 'click', {'page': '/cart', 'ms': 40}, MAP {'b': 2});
INSERT INTO "order details" VALUES (1, 2, 3);
INSERT INTO secrets VALUES (1, 'hidden');
INSERT INTO sales.regions VALUES (1, 'north'), (2, 'south');
