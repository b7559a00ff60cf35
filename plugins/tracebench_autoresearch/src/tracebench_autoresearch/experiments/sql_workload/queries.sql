SELECT count(*) FROM orders WHERE customer_id = 17;
SELECT c.city, sum(l.price * l.pieces) FROM customers c JOIN orders o ON o.customer_id = c.id JOIN lines l ON l.order_id = o.id WHERE c.id = 99 GROUP BY c.city;
SELECT id, day FROM orders WHERE day BETWEEN 200 AND 201 ORDER BY day, id;
SELECT l.product, sum(l.pieces) FROM lines l WHERE l.order_id IN (SELECT id FROM orders WHERE customer_id = 33) GROUP BY l.product ORDER BY l.product;
SELECT max(price) FROM lines WHERE product = 7;
