# Runs code that comes as lines "<mark> <limit> <length> <base64>" and keeps its names from one to the next.
# Says on both streams where each begins and ends: NUL <mark> "<", NUL <mark> ">"; on stdout a line of JSON follows.
import ast, base64, fcntl, io, json, linecache, os, signal, sys, traceback, types

DISPLAY = os.path.join(os.getcwd(), "output", "display")
MOST_CELLS = 1000000


def save(kind, extension, write):
    """Makes a new file for people to see. What goes wrong here is told, and is no failure of the code."""
    path = None
    try:
        os.makedirs(DISPLAY, exist_ok=True)
        names = set(os.listdir(DISPLAY))
        number = 1
        while True:
            name = "%s-%d.%s" % (kind, number, extension)
            number += 1
            if name in names:
                continue
            try:
                file = open(os.path.join(DISPLAY, name), "xb")
            except FileExistsError:
                continue
            path = os.path.join(DISPLAY, name)
            with file:
                write(file)
            return name
    except Exception as error:
        print("[the %s was not saved: %s: %s]" % (kind, type(error).__name__, error), file=sys.stderr)
        if path:
            try:
                os.unlink(path)
            except OSError:
                pass


def save_figures(*ignored, **more_ignored):
    """Saves and closes every open figure, if matplotlib was imported; it is what plt.show() does here."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None or not hasattr(pyplot, "get_fignums"):
        return
    try:
        for number in pyplot.get_fignums():
            figure = pyplot.figure(number)
            save("figure", "png", lambda file: figure.savefig(file, format="png", bbox_inches="tight"))
            pyplot.close(figure)
    except Exception as error:
        print("[figures were not saved: %s: %s]" % (type(error).__name__, error), file=sys.stderr)


def save_table(value):
    """Saves a value as CSV, if pandas was imported and it is a table of it."""
    pandas = sys.modules.get("pandas")
    try:
        if pandas is None or not isinstance(value, (pandas.DataFrame, pandas.Series)):
            return
        columns = value.shape[1] if len(value.shape) > 1 else 1
        rows = max(1, MOST_CELLS // max(1, columns))
        name = save("table", "csv", lambda file: file.write(value.head(rows).to_csv().encode("utf-8", "replace")))
        if name and len(value) > rows:
            print("[%s has the first %d of %d rows]" % (name, rows, len(value)), file=sys.stderr)
    except Exception as error:
        print("[the table was not saved: %s: %s]" % (type(error).__name__, error), file=sys.stderr)


class ShowFigures:
    """Sees to it that plt.show() saves figures from the moment on that user code imports matplotlib."""

    def find_spec(self, name, path=None, target=None):
        if name != "matplotlib.pyplot" or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        import importlib.util

        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            module.show = save_figures

        spec.loader.exec_module = exec_module
        return spec


class Pipe(io.RawIOBase):
    """Writes all or fails; a signal may cut a write(2) short. Closing it does not close the descriptor."""

    def __init__(self, fd):
        self.fd = fd

    def writable(self):
        return True

    def fileno(self):
        return self.fd

    def write(self, data):
        rest = memoryview(data).cast("B")
        size = len(rest)
        while rest:
            rest = rest[os.write(self.fd, rest):]
        return size


def drive(once):
    # Far from the low ones, which user code may close; none of them is inherited by its children.
    requests = io.open(fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 100), "rb")
    out = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 100)
    err = fcntl.fcntl(2, fcntl.F_DUPFD_CLOEXEC, 100)
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    sys.argv[1:] = []
    me = os.getpid()
    running = False
    calls = 0

    def interrupt(number, frame):
        if running:
            raise KeyboardInterrupt

    def reset():
        os.dup2(null, 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        sys.stdin = sys.__stdin__ = io.open(0, "r", encoding="utf-8", closefd=False)
        for name, fd in ("stdout", 1), ("stderr", 2):
            text = io.TextIOWrapper(Pipe(fd), "utf-8", "backslashreplace", newline="", write_through=True)
            setattr(sys, name, text)
            setattr(sys, "__" + name + "__", text)
        signal.signal(signal.SIGINT, interrupt)

    def evaluate(code, name):
        tree = ast.parse(code, name)
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)
        exec(compile(tree, name, "exec"), main.__dict__)
        if last is not None:
            value = eval(compile(last, name, "eval"), main.__dict__)
            if value is not None:
                text = repr(value)
                if os.getpid() == me:
                    save_table(value)
                return text

    def finish():
        if os.getpid() == me:
            save_figures()

    def report(error):
        here = drive.__code__.co_filename
        trace = error.__traceback__
        while trace and trace.tb_frame.f_code.co_filename == here:
            trace = trace.tb_next
        if trace is None and not isinstance(error, SyntaxError):
            error.__suppress_context__ = True
        elif isinstance(error, SyntaxError):
            # compile() is the only frame below the driver's, if any: ast.parse
            while trace and trace.tb_frame.f_code.co_filename == ast.__file__:
                trace = trace.tb_next
        traceback.print_exception(type(error), error, trace)

    def run(code, name, limit):
        nonlocal running
        try:
            try:
                running = True
                try:
                    result = evaluate(code, name)
                except (Exception, SystemExit):
                    finish()
                    raise
                finish()
            finally:
                running = False
            if result is not None and len(result) > limit:
                return {"code": 0, "result": result[:limit], "cut": len(result) - limit}
            return {"code": 0, "result": result}
        except SystemExit as end:
            if end.code is None or isinstance(end.code, int):
                return {"code": (end.code or 0) & 255}
            print(end.code, file=sys.stderr)
            return {"code": 1}
        except BaseException as error:
            report(error)
            return {"code": 130 if isinstance(error, KeyboardInterrupt) else 1}

    os.environ.setdefault("MPLBACKEND", "Agg")  # there is no screen
    sys.meta_path.insert(0, ShowFigures())
    reset()
    for line in requests:
        fields = line.split()
        if len(fields) == 3 and fields[2] == b"0":
            fields.append(b"")
        if len(fields) != 4 or len(fields[3]) != int(fields[2]):
            continue  # the end of what a server that died was writing
        mark = b"\0" + fields[0]
        calls += 1
        name = "<code>" if once else "<call %d>" % calls
        if not once:
            Pipe(err).write(mark + b"<")
            Pipe(out).write(mark + b"<")
        code = base64.b64decode(fields[3]).decode("utf-8", "surrogatepass")
        linecache.cache[name] = (len(code), None, code.splitlines(True), name)
        try:
            outcome = run(code, name, int(fields[1]))
        except BaseException as error:  # what user code broke: a stream, or the way to print
            outcome = {"code": 1}
            Pipe(err).write(("%s: %s\n" % (type(error).__name__, error)).encode("utf-8", "backslashreplace"))
        if os.getpid() != me:
            os._exit(outcome["code"])  # a child that user code forked and did not end
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except Exception:
            pass
        reset()
        Pipe(err).write(mark + b">")
        Pipe(out).write(mark + b">" + json.dumps(outcome).encode() + b"\n")
        if once:
            sys.exit(outcome["code"])


drive(sys.argv[1] == "once")
