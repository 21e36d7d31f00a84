"""What IPython shows of tables and figures besides what it shows anyway: their data."""

import datetime
import decimal
import math

from IPython.core.formatters import BaseFormatter
from traitlets import ObjectName, Unicode

from .charts import chart_of

LARGEST_TABLE = 1_000_000


class DataFormatter(BaseFormatter):
    format_type = Unicode("e2b/data")
    print_method = ObjectName("_repr_e2b_data_")
    _return_type = dict


class ChartFormatter(BaseFormatter):
    format_type = Unicode("e2b/chart")
    print_method = ObjectName("_repr_e2b_chart_")
    _return_type = dict

    def pop(self, typ, default=None):
        """IPython makes all formatters forget figures when it sets in which form they are shown; not this one."""
        return default


def install(shell):
    """Adds the formatters. Names are enough: pandas and matplotlib are not imported before the code does."""
    display = shell.display_formatter
    data = DataFormatter(parent=display)
    data.for_type_by_name("pandas.core.frame", "DataFrame", data_of)
    chart = ChartFormatter(parent=display)
    chart.for_type_by_name("matplotlib.figure", "Figure", quiet(chart_of))
    for formatter in (data, chart):
        display.formatters[formatter.format_type] = formatter
        if formatter.format_type not in display.active_types:
            display.active_types = [*display.active_types, formatter.format_type]


def data_of(frame):
    """The columns of a table as lists, or nothing when it is too large to be of use."""
    if frame.size > LARGEST_TABLE:
        return None
    return jsonable(frame.to_dict(orient="list"))


def quiet(extract):
    """A figure is shown even if nothing is understood of it."""

    def tried(figure):
        try:
            found = extract(figure)
        except Exception:
            return None
        return None if found is None else jsonable(found)

    return tried


def jsonable(value):
    """The nearest thing to a value that JSON has."""
    if value is None or isinstance(value, (bool, str)):
        return value if not isinstance(value, str) else str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key if isinstance(key, str) else _key(key): jsonable(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [jsonable(inner) for inner in value]
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return None if value != value else value.isoformat()
    if isinstance(value, decimal.Decimal):
        return jsonable(float(value))
    if hasattr(value, "tolist"):
        # numpy's scalars and arrays
        inner = value.tolist()
        return str(value) if inner is value else jsonable(inner)
    return None if _missing(value) else str(value)


def _key(key):
    inner = jsonable(key)
    return inner if isinstance(inner, str) else str(key)


def _missing(value):
    try:
        return bool(value != value)
    except Exception:
        # pandas.NA is neither equal nor unequal to anything
        return type(value).__name__ == "NAType"
