-- The database that MySQL's corpus speaks of, made by tests/sql/mysql_lab.py. Sent whole to the server: no DELIMITER needed.
DROP DATABASE IF EXISTS corpus;
CREATE DATABASE corpus;
USE corpus;
-- Quick to make; what is locked or rolled back says InnoDB itself.
SET default_storage_engine = MyISAM;
CREATE TABLE customers (
  id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(80) NOT NULL, email VARCHAR(120), city VARCHAR(40),
  country CHAR(2), created_at DATETIME, update_time TIMESTAMP NULL, `delete` TINYINT DEFAULT 0, KEY idx_city (city)
);
CREATE TABLE products (
  id INT PRIMARY KEY, name VARCHAR(80), category VARCHAR(40), price DECIMAL(10, 2), stock INT, attributes JSON
) ENGINE = InnoDB;
CREATE TABLE orders (
  id INT PRIMARY KEY AUTO_INCREMENT, customer_id INT, status VARCHAR(20), total DECIMAL(10, 2), ordered_at DATETIME,
  note TEXT, KEY idx_customer (customer_id), KEY idx_status (status)
) ENGINE = InnoDB;
CREATE TABLE order_items (order_id INT, product_id INT, quantity INT, price DECIMAL(10, 2), PRIMARY KEY (order_id, product_id));
CREATE TABLE events (id INT, at DATE, kind VARCHAR(20), PRIMARY KEY (id, at))
  PARTITION BY RANGE (YEAR(at)) (PARTITION p2023 VALUES LESS THAN (2024), PARTITION p2024 VALUES LESS THAN MAXVALUE);
CREATE TABLE articles (id INT PRIMARY KEY, title VARCHAR(100), body TEXT, FULLTEXT KEY ft (title, body));
CREATE TABLE places (id INT PRIMARY KEY, at POINT NOT NULL, SPATIAL KEY (at));
CREATE TABLE prices (id INT PRIMARY KEY, amount INT) WITH SYSTEM VERSIONING;
CREATE TABLE categories (id INT PRIMARY KEY, parent_id INT, name VARCHAR(40));
CREATE TABLE `2024_sales` (`1st` INT, `total sum` INT, `größe` INT);
CREATE TABLE `select` (`from` INT, `group` VARCHAR(10), `drop table` INT);
CREATE TABLE blobs (id INT PRIMARY KEY, data BLOB, bits BIT(8));
CREATE TABLE secrets (id INT PRIMARY KEY, word VARCHAR(40)) ENGINE = InnoDB;
CREATE TABLE periods (id INT, amount INT, starts DATE, ends DATE, PERIOD FOR valid (starts, ends));
CREATE SEQUENCE order_numbers START WITH 100;
CREATE VIEW big_orders AS SELECT * FROM orders WHERE total > 50;
CREATE FUNCTION f_write(x INT) RETURNS INT MODIFIES SQL DATA
BEGIN
  INSERT INTO secrets VALUES (x, 'written') ON DUPLICATE KEY UPDATE word = 'written';
  RETURN x;
END;
CREATE FUNCTION `if`(x INT) RETURNS INT MODIFIES SQL DATA
BEGIN
  INSERT INTO secrets VALUES (x, 'written') ON DUPLICATE KEY UPDATE word = 'written';
  RETURN x;
END;
CREATE FUNCTION `count`(x INT) RETURNS INT MODIFIES SQL DATA
BEGIN
  INSERT INTO secrets VALUES (x, 'written') ON DUPLICATE KEY UPDATE word = 'written';
  RETURN x;
END;
-- Words that MariaDB does not reserve: in a query they call these.
CREATE FUNCTION `against`(x INT) RETURNS INT MODIFIES SQL DATA RETURN f_write(x);
CREATE FUNCTION `columns`(x INT) RETURNS INT MODIFIES SQL DATA RETURN f_write(x);
CREATE FUNCTION `minus`(x INT) RETURNS INT MODIFIES SQL DATA RETURN f_write(x);
CREATE FUNCTION `of`(x INT) RETURNS INT MODIFIES SQL DATA RETURN f_write(x);
CREATE FUNCTION `query`(x INT) RETURNS INT MODIFIES SQL DATA RETURN f_write(x);
CREATE FUNCTION `sql_cache`(x INT) RETURNS INT MODIFIES SQL DATA RETURN f_write(x);
CREATE FUNCTION `json_table`(x INT) RETURNS INT MODIFIES SQL DATA RETURN f_write(x);
CREATE FUNCTION `lead`(x INT) RETURNS INT MODIFIES SQL DATA RETURN f_write(x);
CREATE PROCEDURE p_write()
BEGIN
  DELETE FROM orders;
END;
INSERT INTO customers (id, name, email, city, country, created_at) VALUES
  (1, 'Ada', 'ada@example.com', 'London', 'GB', '2023-01-05 10:00:00'),
  (2, 'Björn', 'bjorn@example.com', 'Malmö', 'SE', '2023-06-01 12:30:00'),
  (3, "O'Hara", NULL, 'Cork', 'IE', '2024-02-29 00:00:00'),
  (4, 'Émile', 'emile@example.com', 'Lyon', 'FR', '2024-03-01 08:15:00');
INSERT INTO products VALUES
  (1, 'Espresso', 'coffee', 8.50, 10, '{"roast": "dark", "sizes": [250, 500]}'),
  (2, 'Filter', 'coffee', 7.00, 0, '{"roast": "light"}'),
  (3, 'Grinder', 'tools', 89.00, 3, NULL);
INSERT INTO orders VALUES
  (1, 1, 'paid', 25.50, '2024-01-10 09:00:00', NULL), (2, 1, 'pending', 89.00, '2024-02-11 10:00:00', 'gift; wrap -- it'),
  (3, 2, 'paid', 14.00, '2024-02-12 11:00:00', ''), (4, 3, 'cancelled', 7.00, '2024-03-13 12:00:00', 'DROP TABLE orders');
INSERT INTO order_items VALUES (1, 1, 3, 8.50), (2, 3, 1, 89.00), (3, 2, 2, 7.00), (4, 2, 1, 7.00);
INSERT INTO events VALUES (1, '2023-05-01', 'view'), (2, '2024-05-01', 'click');
INSERT INTO articles VALUES (1, 'Coffee at home', 'How to brew good coffee'), (2, 'Tea', 'How to brew tea');
INSERT INTO places VALUES (1, ST_GeomFromText('POINT(1 2)')), (2, ST_GeomFromText('POINT(3 4)'));
INSERT INTO prices VALUES (1, 10);
UPDATE prices SET amount = 11;
INSERT INTO categories VALUES (1, NULL, 'all'), (2, 1, 'coffee'), (3, 1, 'tools');
INSERT INTO `2024_sales` VALUES (1, 2, 3);
INSERT INTO `select` VALUES (1, 'a', 2);
INSERT INTO blobs VALUES (1, x'00ff', b'1010');
INSERT INTO periods VALUES (1, 1, '2023-01-01', '2025-01-01');
INSERT INTO secrets VALUES (1, 'hidden');
