"""The keep rules as command lines take them: which backups a deletion leaves. Owns their names and help.

Which backups a rule keeps is the engine's.
"""

from typing import Annotated

from repositories.console.options import Option

Last = Annotated[int, Option("--keep-last", metavar="N", min=0, help="Keep the newest N.")]
Hourly = Annotated[int, Option("--keep-hourly", metavar="N", min=0, help="And one for each of N hours.")]
Daily = Annotated[int, Option("--keep-daily", metavar="N", min=0, help="And one for each of N days.")]
Weekly = Annotated[int, Option("--keep-weekly", metavar="N", min=0, help="And one for each of N weeks.")]
Monthly = Annotated[int, Option("--keep-monthly", metavar="N", min=0, help="And one for each of N months.")]
Yearly = Annotated[int, Option("--keep-yearly", metavar="N", min=0, help="And one for each of N years.")]
Within = Annotated[
    str | None, Option("--keep-within", metavar="TIME", help="And all within this time before the newest: 36h, 30d.")
]
Tag = Annotated[tuple[str, ...], Option("--keep-tag", metavar="TAG", help="And all with this tag; repeatable.")]
