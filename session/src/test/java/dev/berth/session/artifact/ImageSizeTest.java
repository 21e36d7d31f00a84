package dev.berth.session.artifact;

import static org.assertj.core.api.Assertions.assertThat;

import java.awt.image.BufferedImage;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class ImageSizeTest {
    private static byte[] image(String format) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        assertThat(ImageIO.write(new BufferedImage(321, 123, BufferedImage.TYPE_INT_RGB), format, bytes))
                .isTrue();
        return bytes.toByteArray();
    }

    @ParameterizedTest
    @CsvSource({"image/png,png", "image/jpeg,jpg", "image/gif,gif"})
    void imagesOfCommonProgramsHaveTheirSize(String type, String format) throws IOException {
        assertThat(ImageSize.of(type, image(format))).contains(new ImageSize(321, 123));
    }

    @Test
    void aWebpHasItsSizeInEachOfItsThreeForms() {
        HexFormat hex = HexFormat.of();
        byte[] lossy = hex.parseHex("52494646240000005745425056503820180000003001009d012a41017b0002003425a40003");
        byte[] lossless = hex.parseHex("524946461a000000574542505650384c0d0000002f4081" + "1e00" + "0000000000000000");
        byte[] extended = hex.parseHex("524946461a00000057454250565038580a00000000000000400100" + "7a0000" + "00");
        for (byte[] webp : List.of(lossy, lossless, extended)) {
            assertThat(ImageSize.of("image/webp", webp)).contains(new ImageSize(321, 123));
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "<svg width='321' height='123px'>",
                "<?xml version='1.0'?><!-- x --><svg viewBox='0 0 321 123' xmlns='x'>",
                "<svg width='100%' height='100%' viewBox='0,0,321.2,122.9'>"
            })
    void anSvgHasTheSizeThatItsFirstTagSays(String svg) {
        assertThat(ImageSize.of("image/svg+xml", svg.getBytes(StandardCharsets.UTF_8)))
                .contains(new ImageSize(321, 123));
    }

    @Test
    void whatMakesNoSenseHasNoSize() {
        assertThat(ImageSize.of("image/svg+xml", "<svg width='1e9' height='-1'>".getBytes(StandardCharsets.UTF_8)))
                .isEmpty();
        assertThat(ImageSize.of("image/svg+xml", ("<svg " + "a='".repeat(100_000)).getBytes(StandardCharsets.UTF_8)))
                .isEmpty();
        byte[] png = {
            (byte) 0x89, 'P', 'N', 'G', 13, 10, 26, 10, 0, 0, 0, 13, 'I', 'H', 'D', 'R', -1, -1, -1, -1, 0, 0, 0, 1
        };
        assertThat(ImageSize.of("image/png", png)).isEmpty();
        assertThat(ImageSize.of("application/pdf", png)).isEmpty();
    }

    @Test
    void brokenImagesBreakNothing() throws IOException {
        Random random = new Random(7);
        for (String format : List.of("png", "jpg", "gif")) {
            byte[] good = image(format);
            for (int i = 0; i < 20_000; i++) {
                byte[] broken = Arrays.copyOf(good, random.nextInt(good.length));
                for (int n = random.nextInt(8); n > 0 && broken.length > 0; n--) {
                    broken[random.nextInt(broken.length)] = (byte) random.nextInt(256);
                }
                for (String type : List.of("image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml")) {
                    assertThat(ImageSize.of(type, broken).map(ImageSize::width).orElse(1))
                            .isPositive();
                }
            }
        }
    }
}
