# Runs code that comes as lines "<mark> <limit> <length> <base64>" and keeps its names from one to the next.
# Says on both streams where each begins and ends: NUL <mark> "<", NUL <mark> ">"; on stdout a line of JSON follows.
import ast, base64, fcntl, io, json, linecache, os, signal, sys, traceback, types


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
                return repr(value)

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
                result = evaluate(code, name)
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
