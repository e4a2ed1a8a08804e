"""The two eras: how each says the same thing, and how one is put into the words of the other."""
