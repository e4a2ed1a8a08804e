"""Requests that another replica is to answer: passed on to it, and its answers passed back."""
