"""The operations over the record: lists, single rows, sums, SQL, export."""
