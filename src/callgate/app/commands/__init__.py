"""What our own commands ask a gateway, the one that runs or one made in this process."""
