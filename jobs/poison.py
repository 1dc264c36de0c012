"""What the content of one row can cause: errors that isolate that row and let the others go on.

Owns the list alone. The database being away is not in it: that ends the pass, and the next one begins anew.
"""

from typing import Final

from django.db import DataError, IntegrityError

from syncova_project.errors import SyncovaError

POISON: Final = (SyncovaError, DataError, IntegrityError, ArithmeticError, LookupError, TypeError, ValueError)
