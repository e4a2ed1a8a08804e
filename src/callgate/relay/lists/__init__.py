"""What upstreams offer: their lists asked for, read in slices, named, kept and told when they change."""
