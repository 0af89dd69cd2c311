package journal

import (
	"io"

	"github.com/klauspost/compress/zstd"
)

// packer compresses what is written to it, in little memory, with a checksum.
func packer(to io.Writer) (*zstd.Encoder, error) {
	return zstd.NewWriter(to, zstd.WithEncoderCRC(true), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
}

// unpacker reads what a packer has made.
func unpacker(from io.Reader) (*zstd.Decoder, error) {
	return zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
}
