"""Tests of the parts of the code interpreter that need no kernel. CodeInterpreterTest runs them in a sandbox."""

import datetime
import json
import math
import signal
import sys
import tempfile
import types
import unittest

sys.path.insert(0, "/usr/local/lib/interpreter")

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from interpreter import output
from interpreter.bash import BashKernel
from interpreter.charts import chart_of
from interpreter.formats import data_of, jsonable


def chart(figure=None):
    found = jsonable(chart_of(figure or plt.gcf()))
    json.dumps(found, allow_nan=False)
    return found


class Charts(unittest.TestCase):
    def setUp(self):
        plt.close("all")

    def test_lines_over_time(self):
        dates = [datetime.date(2023, 9, 1) + datetime.timedelta(days=i) for i in range(100)]
        plt.plot(dates, np.sin(np.linspace(0, 6, 100)), label="sin(x)")
        plt.plot(dates, np.cos(np.linspace(0, 6, 100)))
        plt.xlabel("Time (s)")
        plt.ylabel("Amplitude [Hz]")
        plt.title("Plot")
        plt.grid(True)
        found = chart()
        self.assertEqual("line", found["type"])
        self.assertEqual("Plot", found["title"])
        self.assertEqual(("Time (s)", "s"), (found["x_label"], found["x_unit"]))
        self.assertEqual(("Amplitude [Hz]", "Hz"), (found["y_label"], found["y_unit"]))
        self.assertEqual(("datetime", "linear"), (found["x_scale"], found["y_scale"]))
        self.assertTrue(all(isinstance(tick, str) for tick in found["x_ticks"]))
        self.assertTrue(all(isinstance(tick, float) for tick in found["y_ticks"]))
        self.assertEqual(len(found["x_ticks"]), len(found["x_tick_labels"]))
        self.assertEqual(["sin(x)", "Line 1"], [line["label"] for line in found["elements"]])
        self.assertEqual(["2023-09-01T00:00:00+00:00", 0.0], found["elements"][0]["points"][0])
        self.assertEqual(100, len(found["elements"][1]["points"]))

    def test_scales(self):
        plt.plot([1, 2, 3], ["A", "B", "C"])
        found = chart()
        self.assertEqual(("linear", "categorical"), (found["x_scale"], found["y_scale"]))
        self.assertEqual([1.0, "A"], found["elements"][0]["points"][0])
        plt.close("all")
        plt.plot([1, 10, 100], [-1, 0, 1])
        plt.xscale("log")
        found = chart()
        self.assertEqual(("log", "linear"), (found["x_scale"], found["y_scale"]))

    def test_lines_across_the_axes_are_no_data(self):
        plt.plot([1, 2], [3, 4])
        plt.axhline(3.5)
        plt.axvline(1.5)
        self.assertEqual(1, len(chart()["elements"]))

    def test_scattered_points(self):
        plt.scatter([1, 2, np.nan], [3, 4, 5], label="one")
        plt.scatter([1], [3])
        found = chart()
        self.assertEqual("scatter", found["type"])
        self.assertEqual(["one", "Dataset 1"], [e["label"] for e in found["elements"]])
        self.assertEqual([1.0, 3.0], found["elements"][0]["points"][0])

    def test_bars(self):
        plt.bar(["Author A", "Author B", "Author C"], [100, 200, 300])
        plt.xlabel("Authors")
        plt.ylabel("Books")
        found = chart()
        self.assertEqual("bar", found["type"])
        self.assertIsNone(found["x_unit"])
        self.assertEqual(["Author A", "Author B", "Author C"], [e["label"] for e in found["elements"]])
        self.assertEqual([100, 200, 300], [e["value"] for e in found["elements"]])
        self.assertEqual({"Group 0"}, {e["group"] for e in found["elements"]})

    def test_grouped_and_lying_bars(self):
        at = np.arange(2)
        plt.bar(at - 0.2, [1, 2], 0.4, label="men")
        plt.bar(at + 0.2, [3, 4], 0.4, label="women")
        plt.xticks(at, ["G1", "G2"])
        found = chart()
        self.assertEqual(
            [("G1", 1, "men"), ("G2", 2, "men"), ("G1", 3, "women"), ("G2", 4, "women")],
            [(e["label"], e["value"], e["group"]) for e in found["elements"]],
        )
        plt.close("all")
        plt.barh(["a", "b"], [5, 6])
        self.assertEqual([("a", 5), ("b", 6)], [(e["label"], e["value"]) for e in chart()["elements"]])

    def test_pie(self):
        plt.pie([90, 10], labels=["No", "No, in blue"], autopct="%1.1f%%", startangle=90)
        plt.title("Early?")
        found = chart()
        self.assertEqual(("pie", "Early?"), (found["type"], found["title"]))
        self.assertEqual(
            [{"label": "No", "angle": 324, "radius": 1}, {"label": "No, in blue", "angle": 36, "radius": 1}],
            found["elements"],
        )

    def test_boxes(self):
        data = {"A": [85, 90, 78, 92, 88], "B": [95, 89, 76, 91, 84, 87], "C": [75, 82, 88, 79, 86]}
        for filled in (True, False):
            plt.close("all")
            _, axes = plt.subplots()
            axes.boxplot(list(data.values()), labels=list(data.keys()), patch_artist=filled)
            axes.set_ylabel("Score")
            found = chart()
            self.assertEqual("box_and_whisker", found["type"])
            self.assertEqual("Score", found["y_label"])
            self.assertEqual(["A", "B", "C"], [e["label"] for e in found["elements"]])
            self.assertEqual([78, 84, 75], [e["min"] for e in found["elements"]])
            self.assertEqual([85, 84.75, 79], [e["first_quartile"] for e in found["elements"]])
            self.assertEqual([88, 88, 82], [e["median"] for e in found["elements"]])
            self.assertEqual([90, 90.5, 86], [e["third_quartile"] for e in found["elements"]])
            self.assertEqual([92, 95, 88], [e["max"] for e in found["elements"]])
            self.assertEqual([[], [76], []], [e["outliers"] for e in found["elements"]])

    def test_outliers_are_no_whiskers(self):
        plt.boxplot([1, 2, 3, 4, 5, 100, -100])
        found = chart()
        self.assertEqual("box_and_whisker", found["type"])
        box = found["elements"][0]
        self.assertEqual((1, 3, 5), tuple(box[k] for k in ("min", "median", "max")))
        self.assertEqual([-100, 100], sorted(box["outliers"]))

    def test_boxes_that_lie(self):
        plt.boxplot([[1, 2, 3, 4, 100]], vert=False)
        found = chart()
        self.assertEqual("box_and_whisker", found["type"])
        self.assertEqual((1, 3, 4, [100]), tuple(found["elements"][0][k] for k in ("min", "median", "max", "outliers")))

    def test_several(self):
        figure, axes = plt.subplots(1, 2)
        figure.suptitle("Both")
        axes[0].plot([1, 2], [3, 4])
        axes[0].set_title("Sine")
        axes[1].scatter([1], [2])
        axes[1].set_xlabel("X")
        found = chart(figure)
        self.assertEqual(("superchart", "Both"), (found["type"], found["title"]))
        self.assertEqual(["line", "scatter"], [e["type"] for e in found["elements"]])
        self.assertIsNone(found["elements"][0]["x_label"])

    def test_unknown_and_blank(self):
        _, axes = plt.subplots()
        self.assertIsNone(chart())
        axes.add_artist(plt.Circle((0, 0), 1))
        axes.set_title("Circle")
        self.assertEqual({"type": "unknown", "title": "Circle", "elements": []}, chart())

    def test_what_pandas_and_seaborn_draw(self):
        import seaborn

        pd.DataFrame({"a": [1, 2], "b": [3, 4]}, index=["x", "y"]).plot.bar()
        found = chart()
        self.assertEqual("bar", found["type"])
        self.assertEqual([("x", "a"), ("y", "a"), ("x", "b"), ("y", "b")], [(e["label"], e["group"]) for e in found["elements"]])
        plt.close("all")
        seaborn.boxplot(x=["p"] * 4 + ["q"] * 4, y=[1, 2, 3, 4, 5, 6, 7, 8])
        self.assertEqual(["p", "q"], [e["label"] for e in chart()["elements"]])


class Values(unittest.TestCase):
    def test_tables(self):
        frame = pd.DataFrame({
            "n": [1, 2],
            "f": [1.5, None],
            "t": pd.to_datetime(["2020-01-02", None]),
            "s": ["x", None],
            "c": pd.Categorical(["u", "v"]),
            "i": pd.array([1, None], dtype="Int64"),
            "d": pd.to_timedelta([1, 2], unit="s"),
        })
        found = data_of(frame)
        json.dumps(found, allow_nan=False)
        self.assertEqual([1, 2], found["n"])
        self.assertEqual([1.5, None], found["f"])
        self.assertEqual(["2020-01-02T00:00:00", None], found["t"])
        self.assertEqual(["x", None], found["s"])
        self.assertEqual(["u", "v"], found["c"])
        self.assertEqual([1, None], found["i"])
        self.assertEqual("0 days 00:00:01", found["d"][0])

    def test_odd_values(self):
        found = jsonable({1: np.float32(1.5), ("a", 2): np.array([np.nan, np.inf]), "x": {np.int64(3): np.bool_(True)}})
        self.assertEqual({"1": 1.5, "('a', 2)": [None, None], "x": {"3": True}}, found)


class Lines(unittest.TestCase):
    def test_one_pair_of_quotes_is_taken_off(self):
        for text, wanted in (("'a'", "a"), ('"a\'"', "a'"), ("''a''", "'a'"), ("'", "'"), ("a'", "a'"), ("''", "")):
            self.assertEqual(wanted, output.unquoted(text))

    def test_results(self):
        line = output.result({"text/plain": "'t'", "image/png": "AA==\n", "x/y": math.nan, "text/html": None}, True)
        self.assertEqual(
            {"type": "result", "is_main_result": True, "text": "t", "png": "AA==", "extra": {"x/y": None}}, line
        )

    def test_errors_have_no_colours(self):
        line = output.error("\x1b[31mE\x1b[0m", "v", ["\x1b[1;31ma\x1b[0m", "\x1b]8;;http://x\x07b"])
        self.assertEqual({"type": "error", "name": "E", "value": "v", "traceback": "a\nb"}, line)

    def test_what_is_not_told(self):
        self.assertIsNone(output.line_of("comm_open", {}, ""))


class Interrupts(unittest.TestCase):
    def test_one_that_comes_with_the_last_output_leaves_no_answer_for_the_next(self):
        connection = {"transport": "ipc", "ip": "@interpreter-test", "key": "k"}
        ports = ("shell_port", "iopub_port", "stdin_port", "control_port", "hb_port")
        with tempfile.NamedTemporaryFile("w") as file:
            json.dump(connection | {port: number for number, port in enumerate(ports, 1)}, file)
            file.flush()
            kernel = BashKernel(file.name)
        said = []

        def publish(kind, content):
            said.append(content.get("text"))
            if content.get("text") == "one\n":
                signal.raise_signal(signal.SIGINT)

        kernel._publish = publish
        execute = lambda code: kernel._execute(types.SimpleNamespace(content={"code": code}, metadata={}))
        execute("echo one; (exit 7)")
        self.assertEqual("ok", execute("echo two")["status"])
        self.assertEqual("two\n", said[-1])
        kernel.forget_program()


if __name__ == "__main__":
    unittest.main()
