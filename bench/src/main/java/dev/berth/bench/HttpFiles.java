package dev.berth.bench;

import dev.berth.bench.report.Row;
import dev.berth.session.Session;
import dev.berth.tool.Workspace;
import java.nio.file.Path;
import java.util.List;

/** A large file into and out of a session's workspace over HTTP, with the other end in the same directory. */
final class HttpFiles implements Measurement {
    private static final String UPLOAD = "upload";
    private static final String DOWNLOAD = "download";

    @Override
    public String name() {
        return "http-files";
    }

    @Override
    public List<Row> measure(Rig rig) throws Exception {
        String amount = rig.scale().transferMegabytes() + " MB over HTTP";
        rig.progress().begin("upload and download " + amount);
        try (SessionSite site = rig.openSessions();
                HttpSite http = HttpSite.open(site);
                Session session = site.resolve()) {
            String workspace = Workspace.of(session.sandbox()).directory();
            Path directory = rig.site().root(session.sandbox().id()).resolve(workspace.substring(1));
            FileTransfer transfer = FileTransfer.in(directory, rig.scale().transferMegabytes());
            Contender upload = Contender.berth(UPLOAD, http.upload(SessionSite.KEY, transfer.source(), "copy"));
            Contender download = Contender.berth(DOWNLOAD, http.download(SessionSite.KEY, "source", transfer.copy()));
            Timings timings = transfer.run(rig, upload.onPlatformThread(), download.onPlatformThread());
            return List.of(
                    transfer.row(UPLOAD + " " + amount, timings, UPLOAD),
                    transfer.row(DOWNLOAD + " " + amount, timings, DOWNLOAD));
        }
    }
}
