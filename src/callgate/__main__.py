"""`python -m callgate`."""

from callgate.cli.main import main

if __name__ == "__main__":
    main()
