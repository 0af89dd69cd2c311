package journal

import (
	"sync"

	"github.com/klauspost/compress/zstd"
)

// The compressors have no state between two calls. A segment is as large as a frame may be.
var (
	packer = sync.OnceValues(func() (*zstd.Encoder, error) {
		return zstd.NewWriter(nil, zstd.WithEncoderCRC(true), zstd.WithEncoderConcurrency(1))
	})
	unpacker = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
	})
)

func pack(raw []byte) ([]byte, error) {
	z, err := packer()
	if err != nil {
		return nil, err
	}
	return z.EncodeAll(raw, nil), nil
}

func unpack(packed []byte) ([]byte, error) {
	z, err := unpacker()
	if err != nil {
		return nil, err
	}
	return z.DecodeAll(packed, nil)
}
