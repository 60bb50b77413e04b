-- update
SELECT k FROM t ORDER BY k
----
error: ORDER BY cannot be kept up to date by a streaming view: the result is a table, and tables have no order
hint: Leave it out of the view and put it on the SELECT that reads the view.

-- update
SELECT k FROM t LIMIT 3
----
error: LIMIT and OFFSET cannot be kept up to date by a streaming view: which rows are first changes with every new row
hint: Leave it out of the view and put it on the SELECT that reads the view.

-- update
SELECT k, row_number() OVER (ORDER BY x) FROM t
----
error: A window function (OVER) cannot be kept up to date by a streaming view: each new row changes the results of other rows
hint: Use GROUP BY, or tumble() and hop() for windows in time.

-- update
SELECT t.k FROM t JOIN e ON t.k = e.k
----
error: JOIN cannot be kept up to date by a streaming view: joins are not incremental yet
hint: Join when reading: keep one view per side and join them in the SELECT that reads them.

-- update
SELECT k FROM t WHERE k IN (SELECT k FROM e)
----
error: A subquery in an expression cannot be kept up to date by a streaming view: the subquery's result changes for rows that were already handed on
hint: Make the subquery a view of its own and combine both in the SELECT that reads them.

-- update
SELECT k FROM t WHERE x = (SELECT max(x) FROM e)
----
error: A subquery in an expression cannot be kept up to date by a streaming view: the subquery's result changes for rows that were already handed on
hint: Make the subquery a view of its own and combine both in the SELECT that reads them.

-- update
SELECT DISTINCT ON (k) k, s FROM t ORDER BY k, s
----
error: DISTINCT ON cannot be kept up to date by a streaming view: which row of a group is the first changes with every new row
hint: Use GROUP BY with min() or max(), or SELECT DISTINCT.

-- update
SELECT 1 AS one
----
error: A SELECT without a table cannot be kept up to date by a streaming view: it never changes, so there is nothing to keep up to date
hint: Select from a source, stream, table or view.

-- update
VALUES (1), (2)
----
error: A SELECT without a table cannot be kept up to date by a streaming view: it never changes, so there is nothing to keep up to date
hint: Select from a source, stream, table or view.

