package keys

import (
	"context"
	"fmt"

	"usher/ucan"
	"usher/venue/store"
)

// Check says what is wrong with a key file: it must open the venue's key in the
// space. It changes nothing.
func Check(ctx context.Context, space *store.Space, file string) error {
	key, err := ucan.ReadKeyFile(file)
	if err != nil {
		return err
	}
	defer key.Zero()
	sealer, err := ucan.NewSealer(key)
	if err != nil {
		return err
	}
	raw, _, err := space.Get(ctx, venueName)
	if err != nil {
		return err
	}
	sealed, err := read(venueName, raw)
	if err == nil {
		_, err = ucan.OpenKey(sealer, sealed.DID, sealed.Box)
	}
	if err != nil {
		return fmt.Errorf("%s does not open the venue's key: %w", file, err)
	}
	return nil
}
