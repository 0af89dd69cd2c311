package badger

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"usher/venue/store"
)

// TestLogComesBack shows in Badger alone that the log of a memtable which could not be removed brings
// rows back that were deleted since (UPSTREAM.md). When it fails, Badger has mended that.
func TestLogComesBack(t *testing.T) {
	o := badger.DefaultOptions(t.TempDir()).WithLogger(nil).WithCompactL0OnClose(true)
	db, err := badger.OpenManaged(o)
	if err != nil {
		t.Fatal(err)
	}
	at := func(version uint64, change func(*badger.Txn) error) error {
		txn := db.NewTransactionAt(version, true)
		return errors.Join(change(txn), txn.CommitAt(version, nil))
	}
	key := []byte("k")
	put := at(1, func(txn *badger.Txn) error { return txn.Set(key, []byte("v")) })
	left, err := os.ReadFile(filepath.Join(o.Dir, "00001.mem"))
	gone := at(2, func(txn *badger.Txn) error { return txn.Delete(key) })
	db.SetDiscardTs(2)
	if err := errors.Join(put, err, gone, db.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.Dir, "00001.mem"), left, 0o600); err != nil {
		t.Fatal(err)
	}
	if db, err = badger.OpenManaged(o); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.NewTransactionAt(3, false).Get(key); err != nil {
		t.Errorf("Get = %v: the row is gone", err)
	}
}

// TestLeftLog: an index that is closed leaves no log that could bring rows back, and one that finds
// such a log is suspect.
func TestLeftLog(t *testing.T) {
	dir := t.TempDir()
	i, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Write(1, []store.Op{{Kind: store.OpPut, Key: "k", Value: []byte("v")}}); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "00001.mem"))
	if err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(dir, "00009.mem") // that Badger thinks it has removed
	if err := errors.Join(os.WriteFile(left, raw, 0o600), i.Write(2, []store.Op{{Kind: store.OpDelete, Key: "k"}}), i.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the log is left when the index is closed: %v", err)
	}
	for _, back := range []bool{false, true} {
		if back {
			if err := os.WriteFile(left, raw, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if i, err = Open(dir, nil); err != nil {
			t.Fatal(err)
		}
		if i.IsSuspect() != back {
			t.Errorf("suspect %v with the log there %v", i.IsSuspect(), back)
		}
		if err := i.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
