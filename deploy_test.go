package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"usher/venue/config"
)

// readDeploy reads a file by which a venue is deployed, which the tests take as what deploys it does.
func readDeploy(t *testing.T, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile("examples/deploy/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestKubernetes(t *testing.T) {
	var kinds []string
	documents := yaml.NewDecoder(bytes.NewReader(readDeploy(t, "kubernetes.yaml")))
	for {
		var d struct {
			APIVersion string `yaml:"apiVersion"`
			Kind       string
			Metadata   struct{ Name string }
			Data       map[string]string
			Spec       struct {
				Replicas int
				Template struct {
					Spec struct {
						SecurityContext map[string]any `yaml:"securityContext"`
						Containers      []struct {
							Args            []string
							SecurityContext map[string]any `yaml:"securityContext"`
						}
					}
				}
			}
		}
		if err := documents.Decode(&d); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if d.APIVersion == "" || d.Metadata.Name != "usher" {
			t.Errorf("%s of %s is called %s", d.Kind, d.APIVersion, d.Metadata.Name)
		}
		kinds = append(kinds, d.Kind)
		switch d.Kind {
		case "ConfigMap":
			if _, err := config.Parse("usher.yaml", []byte(d.Data["usher.yaml"])); err != nil {
				t.Errorf("its configuration: %v", err)
			}
		case "StatefulSet":
			pod := d.Spec.Template.Spec
			if d.Spec.Replicas != 1 || pod.SecurityContext["runAsNonRoot"] != true || pod.Containers[0].SecurityContext["readOnlyRootFilesystem"] != true || pod.Containers[0].Args[0] != "serve" {
				t.Errorf("it runs as %+v", d.Spec)
			}
		}
	}
	if want := []string{"ConfigMap", "StatefulSet", "Service", "NetworkPolicy"}; !slices.Equal(kinds, want) {
		t.Errorf("it has %v, want %v", kinds, want)
	}
}

func TestService(t *testing.T) {
	sections := map[string]map[string]string{}
	section := ""
	for n, line := range strings.Split(string(readDeploy(t, "usher.service")), "\n") {
		switch key, value, has := strings.Cut(line, "="); {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			section = strings.Trim(line, "[]")
			sections[section] = map[string]string{}
		case !has || section == "":
			t.Errorf("line %d is %q", n+1, line)
		default:
			sections[section][key] = value
		}
	}
	for key, want := range map[string]string{"DynamicUser": "yes", "NoNewPrivileges": "yes", "ProtectSystem": "strict", "CapabilityBoundingSet": "", "StateDirectory": "usher"} {
		if got, ok := sections["Service"][key]; !ok || got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		return // read above all the same
	}
	// It looks for the command, which is not here.
	unit := strings.ReplaceAll(string(readDeploy(t, "usher.service")), "/usr/local/bin/usher", "/bin/true")
	file := t.TempDir() + "/usher.service"
	if err := os.WriteFile(file, []byte(unit), 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", file).CombinedOutput(); err != nil || bytes.Contains(said, []byte("Unknown")) {
		t.Errorf("%s %v", said, err)
	}
}

func TestDockerfile(t *testing.T) {
	file := string(readDeploy(t, "Dockerfile"))
	for _, want := range []string{"\nFROM scratch\n", "\nUSER 65532:65532\n", "\nENTRYPOINT [\"/usher\"]\n", "CGO_ENABLED=0"} {
		if !strings.Contains(file, want) {
			t.Errorf("it lacks %q", strings.TrimSpace(want))
		}
	}
}
