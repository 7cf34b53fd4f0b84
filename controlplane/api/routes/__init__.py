"""One router per domain; each route is a query, a view, and nothing between them."""
