"""Secrets out of texts and documents: by their names, their forms and their places."""
