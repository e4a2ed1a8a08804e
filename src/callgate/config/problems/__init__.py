"""What is wrong with a draft: each table's mistakes in our words, and clashes between tables."""
