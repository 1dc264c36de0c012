"""First step of every command: picks a Python, makes and checks `.venv`, and hands over to the program asked for.

Standard library only and parsed by Python 3.6: it runs before anything is installed. It must not import the product.
"""
