import java.net.URI;
import java.util.Properties;
import org.gaul.s3proxy.BlobStores;
import org.gaul.s3proxy.S3Proxy;
import org.gaul.s3proxy.auth.AuthenticationType;

/**
 * An S3 server for tests: {@code java -cp 'target/lib/*' S3Server.java DIRECTORY ACCESS_KEY SECRET_KEY}. It prints its
 * port and serves the directory on the loopback interface until its standard input ends, so that it never outlives the
 * tests, however they end.
 */
public final class S3Server {
    public static void main(String[] args) throws Exception {
        Properties settings = new Properties();
        settings.setProperty("jclouds.filesystem.basedir", args[0]);
        S3Proxy server = S3Proxy.builder()
                .blobStore(BlobStores.create("filesystem-nio2", settings))
                .endpoint(URI.create("http://127.0.0.1:0"))
                .awsAuthentication(AuthenticationType.AWS_V2_OR_V4, args[1], args[2])
                .build();
        server.start();
        System.out.println("port " + server.getPort());
        System.in.transferTo(java.io.OutputStream.nullOutputStream());
        Runtime.getRuntime().halt(0);
    }
}
