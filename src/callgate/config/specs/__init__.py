"""The frozen values that the operator's words become: one module for each table, `config` for all of them."""
