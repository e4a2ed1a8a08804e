"""What is taken out of rows, texts and log lines: the operator's rules, and the values that he configured."""
