"""What a matplotlib figure shows, as data: one chart, or a superchart of several.

An axes is taken for what most of its artists are: wedges make a pie, the five lines and a box of each group of a box
plot make that, rectangles of a bar container make bars, path collections scattered points, lines a line chart. What is
none of these is unknown; an axes with nothing on it is no chart.
"""

import re

_UNIT = re.compile(r"[(\[]([^()\[\]]+)[)\]]\s*$")
_NUMBER = re.compile(r"[-\u2212+]?[\d.,]*\d[\d.,]*(?:[eE][-\u2212+]?\d+)?%?")
MOST_POINTS = 100_000


def chart_of(figure):
    found = [chart for axes in figure.axes if (chart := _axes_chart(axes)) is not None]
    if not found:
        return None
    if len(found) == 1:
        return found[0]
    title = figure._suptitle.get_text() if figure._suptitle is not None else None
    return {"type": "superchart", "title": title or None, "elements": found}


def _axes_chart(axes):
    from matplotlib.container import BarContainer
    from matplotlib.patches import Wedge

    wedges = [patch for patch in axes.patches if isinstance(patch, Wedge)]
    bars = [c for c in axes.containers if isinstance(c, BarContainer) and len(c.patches)]
    lines = [line for line in axes.lines if not _is_grid(axes, line)]
    boxes = _boxes(axes, lines)
    points = _scattered(axes)
    if wedges:
        return {"type": "pie", "title": _title(axes), "elements": _slices(axes, wedges)}
    if boxes:
        return {"type": "box_and_whisker", **_plane(axes, boxes[0].upright), "elements": _box_data(axes, boxes)}
    if bars:
        return {"type": "bar", **_plane(axes, _bars_upright(bars)), "elements": _bar_data(axes, bars)}
    if points:
        return {"type": "scatter", **_plane(axes), **_scales(axes), "elements": points}
    if lines:
        elements = [_line(axes, line, number) for number, line in enumerate(lines)]
        return {"type": "line", **_plane(axes), **_scales(axes), "elements": elements}
    if axes.has_data() or axes.patches or axes.images or axes.collections or axes.artists:
        return {"type": "unknown", "title": _title(axes), "elements": []}
    return None


def _title(axes):
    return axes.get_title() or axes.get_title(loc="left") or axes.get_title(loc="right") or None


def _plane(axes, upright=True):
    x, y = axes.get_xlabel(), axes.get_ylabel()
    if not upright:
        x, y = y, x
    return {
        "title": _title(axes),
        "x_label": x or None,
        "y_label": y or None,
        "x_unit": _unit(x),
        "y_unit": _unit(y),
    }


def _unit(label):
    found = _UNIT.search(label or "")
    return found[1].strip() or None if found else None


# ---- lines and points


def _is_grid(axes, line):
    """Lines across the whole axes, as axhline and axvline draw them, are in the axes' own coordinates one way."""
    return not all(line.get_transform().contains_branch_seperately(axes.transData))


def _line(axes, line, number):
    return {"label": _label(line, f"Line {number}"), "points": _points(axes, line.get_xdata(False), line.get_ydata(False))}


def _label(artist, otherwise):
    label = str(artist.get_label())
    return otherwise if not label or label.startswith("_") else label


def _scattered(axes):
    from matplotlib.collections import PathCollection

    elements = []
    for collection in axes.collections:
        if isinstance(collection, PathCollection) and len(collection.get_offsets()):
            offsets = collection.get_offsets()
            points = _points(axes, offsets[:, 0], offsets[:, 1])
            elements.append({"label": _label(collection, f"Dataset {len(elements)}"), "points": points})
    return elements


def _points(axes, xs, ys):
    step = -(-max(len(xs), 1) // MOST_POINTS)
    xs, ys = _values(axes.xaxis, xs[::step]), _values(axes.yaxis, ys[::step])
    return [[x, y] for x, y in zip(xs, ys)]


def _values(axis, numbers):
    """Numbers as the code had them: dates again where the axis has dates, names where it has categories."""
    import numpy

    numbers = numpy.ma.filled(numpy.ma.asarray(numbers, dtype=float), numpy.nan)
    kind = _scale(axis)
    if kind == "datetime":
        return _dates(numbers)
    if kind == "categorical":
        names = _categories(axis)
        return [names.get(number, number) for number in numbers.tolist()]
    return numbers.tolist()


def _dates(numbers):
    import math

    from matplotlib.dates import num2date

    return [num2date(number).isoformat() if math.isfinite(number) else None for number in numbers]


def _categories(axis):
    mapping = getattr(axis.units, "_mapping", None)
    return {float(number): str(name) for name, number in mapping.items()} if mapping else {}


def _scale(axis):
    from matplotlib.category import StrCategoryConverter
    from matplotlib.dates import AutoDateLocator, ConciseDateConverter, DateConverter, DateLocator
    from matplotlib.dates import _SwitchableDateConverter as SwitchableDateConverter

    converter = axis.get_converter() if hasattr(axis, "get_converter") else axis.converter
    if isinstance(converter, StrCategoryConverter):
        return "categorical"
    if isinstance(converter, (DateConverter, ConciseDateConverter, SwitchableDateConverter)):
        return "datetime"
    if isinstance(axis.get_major_locator(), (AutoDateLocator, DateLocator)):
        return "datetime"
    if axis.get_scale() == "linear":
        labels = [label.get_text() for label in axis.get_ticklabels()]
        labels = [label for label in labels if label]
        if labels and not any(_NUMBER.fullmatch(_plain(label)) for label in labels):
            return "categorical"
    return axis.get_scale()


def _plain(label):
    return re.sub(r"\\mathdefault|[${}\\\s]", "", label)


def _scales(axes):
    found = {}
    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        kind = _scale(axis)
        ticks = [float(tick) for tick in axis.get_ticklocs()]
        found[f"{name}_ticks"] = _dates(ticks) if kind == "datetime" else ticks
        found[f"{name}_tick_labels"] = [label.get_text() for label in axis.get_ticklabels()]
        found[f"{name}_scale"] = kind
    return found


# ---- bars


def _bars_upright(bars):
    return all(container.orientation != "horizontal" for container in bars)


def _bar_data(axes, bars):
    elements = []
    upright = _bars_upright(bars)
    axis = axes.xaxis if upright else axes.yaxis
    names = _tick_names(axis)
    for number, container in enumerate(bars):
        group = _label(container, f"Group {number}")
        for bar in container.patches:
            at = bar.get_x() + bar.get_width() / 2 if upright else bar.get_y() + bar.get_height() / 2
            value = bar.get_height() if upright else bar.get_width()
            elements.append({"label": _nearest(axis, names, at), "value": value, "group": group})
    return elements


def _tick_names(axis):
    names = _categories(axis)
    if names:
        return names
    labels = [label.get_text() for label in axis.get_ticklabels()]
    return {float(at): label for at, label in zip(axis.get_ticklocs(), labels) if label}


def _nearest(axis, names, at):
    """The name under a bar. Those of a group stand beside it, less than half a step away."""
    if _scale(axis) == "datetime":
        return _dates([at])[0]
    if names:
        place = min(names, key=lambda known: abs(known - at))
        exact = _scale(axis) == "categorical"
        if abs(place - at) < (0.5 if exact else 1e-9):
            return names[place]
    return str(round(at, 10)) if at != int(at) else str(int(at))


# ---- pies


def _slices(axes, wedges):
    labels = [text.get_text() for text in axes.texts]
    # with autopct each slice has two texts, its label first
    step = 2 if len(labels) == 2 * len(wedges) else 1
    elements = []
    for number, wedge in enumerate(wedges):
        label = _label(wedge, "")
        if not label and number * step < len(labels):
            label = labels[number * step]
        angle = round(abs(wedge.theta2 - wedge.theta1), 4)
        elements.append({"label": label, "angle": int(angle) if angle == int(angle) else angle, "radius": wedge.r})
    return elements


# ---- box plots


class _Box:
    """The box of one group: where it stands, from one quartile to the other."""

    def __init__(self, middle, low, high, upright):
        self.middle = middle
        self.low = low
        self.high = high
        self.upright = upright
        self.half = 0.0


def _boxes(axes, lines):
    """Boxes are closed paths of four corners, with a median line across; without one it is no box plot."""
    from matplotlib.patches import PathPatch

    outlines = [patch.get_path().vertices for patch in axes.patches if isinstance(patch, PathPatch)]
    outlines += [line.get_xydata() for line in lines if len(line.get_xdata()) == 5]
    found = []
    for corners in outlines:
        if len(corners) < 5:
            continue
        xs, ys = corners[:, 0], corners[:, 1]
        left, right, bottom, top = xs.min(), xs.max(), ys.min(), ys.max()
        for upright in (True, False):
            middle = (left + right) / 2 if upright else (bottom + top) / 2
            low, high = (bottom, top) if upright else (left, right)
            box = _Box(middle, low, high, upright)
            box.half = (right - left) / 2 if upright else (top - bottom) / 2
            if _median(box, lines) is not None and _whiskers(box, lines):
                found.append(box)
                break
    return found


def _is_drawn(line):
    """Outliers are a line of which only the markers are drawn."""
    return line.get_linestyle() not in ("None", "none", "", " ")


def _along(box, line):
    """The line's places across and along the direction of a box."""
    xs, ys = line.get_xdata(False), line.get_ydata(False)
    return (xs, ys) if box.upright else (ys, xs)


def _median(box, lines):
    for line in lines:
        across, along = _along(box, line)
        if _is_drawn(line) and len(along) == 2 and along[0] == along[1] and box.low <= along[0] <= box.high:
            if abs(min(across) - (box.middle - box.half)) < 1e-6 and abs(max(across) - (box.middle + box.half)) < 1e-6:
                return along[0]
    return None


def _whiskers(box, lines):
    found = []
    for line in lines:
        across, along = _along(box, line)
        if _is_drawn(line) and len(along) == 2 and all(abs(a - box.middle) < 1e-6 for a in across):
            found.append((min(along), max(along)))
    return found


def _outliers(box, lines, low, high):
    found = []
    for line in lines:
        if _is_drawn(line):
            continue
        across, along = _along(box, line)
        found += [value for at, value in zip(across, along) if abs(at - box.middle) < 1e-6 and not low <= value <= high]
    return found


def _box_data(axes, boxes):
    lines = list(axes.lines)
    names = _tick_names(axes.xaxis if boxes[0].upright else axes.yaxis)
    elements = []
    for number, box in enumerate(boxes):
        ends = _whiskers(box, lines)
        low, high = min(end[0] for end in ends), max(end[1] for end in ends)
        place = min(names, key=lambda known: abs(known - box.middle), default=None)
        near = place is not None and abs(place - box.middle) < 0.5
        elements.append({
            "label": names[place] if near else str(number + 1),
            "min": low,
            "first_quartile": box.low,
            "median": _median(box, lines),
            "third_quartile": box.high,
            "max": high,
            "outliers": _outliers(box, lines, low, high),
        })
    return elements
