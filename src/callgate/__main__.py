"""`python -m callgate`."""

from callgate.cli.start import main

if __name__ == "__main__":
    main()
