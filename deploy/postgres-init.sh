#!/bin/sh
# Run once by the postgres image, when its folder is new: an account for Callgate that can read and nothing else.
set -eu
psql -v ON_ERROR_STOP=1 -v password="$AGENT_PASSWORD" -v database="$POSTGRES_DB" \
    --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
CREATE ROLE agent LOGIN PASSWORD :'password' CONNECTION LIMIT 20;
ALTER ROLE agent SET default_transaction_read_only = on;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
REVOKE TEMPORARY ON DATABASE :"database" FROM PUBLIC;
GRANT CONNECT ON DATABASE :"database" TO agent;
GRANT USAGE ON SCHEMA public TO agent;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO agent;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO agent;

CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, status text NOT NULL, total numeric(10, 2) NOT NULL);
INSERT INTO orders (status, total) VALUES ('delivered', 19.90), ('shipped', 120.00), ('pending', 7.25);
SQL
