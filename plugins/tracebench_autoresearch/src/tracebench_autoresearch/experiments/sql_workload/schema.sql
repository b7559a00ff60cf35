CREATE INDEX lines_by_order ON lines (order_id);
