package config
import ("testing";"fmt";"strings";"time")
func dump(n *node, ind string) string {
 if n==nil {return ind+"<nil>\n"}
 s:=fmt.Sprintf("%s%s %q @%d:%d\n",ind,n.kind,n.text,n.at.Line,n.at.Column)
 for _,i:=range n.items{s+=dump(i,ind+"  ")}
 for _,f:=range n.fields{s+=fmt.Sprintf("%s.%s@%d:%d\n",ind,f.key,f.at.Line,f.at.Column)+dump(f.value,ind+"  ")}
 return s}
func TestProbe(t *testing.T){
 for _,in:=range []string{
 "a:\n  caps:\n  b: 1\n", "a: [1, x , {y: 2, z}]\n", "a: &x {b: 1}\nc: *x\nd:\n  <<: *x\n  e: f\n", "a: 1\na: 2\n", "---\na: 1\n---\nb: 2\n", "# only\n", "", "a: 1\n...\n", "a: 1\n---\n",
 "a: |\n  x\n  y\nb: >\n  p\n  q\n", "a: 1e5\nb: 1.10\nc: 123456789012345678901234567890\nd: 2024-01-05\ne: 12:30:10\nf: 1.2.3\n", "a: 0x1f\n","a: 007\n","a: 1_000\n", "a: .5\n", "a: +5\n","a: .inf\n",
 "a: \"b\n", "a: [1\n", "a:\n\tb: 1\n", "a: b: c\n", "? a\n: b\n", "1: x\n", "true: x\n", "[a]: x\n", "a: &x [*x]\n","a: *y\n", "a: !!str 123\nb: !foo 3\n","b: !!binary aGk=\n","a: !!str\n", "a: héé [x\nb: 1", "é: {b: ü, c: 1}\nd: 1\n", "a: x # c\n# d\nb:\n# e\n- 1\n#f\n- 2\n", "- a\n-\n- b\n","a: yes\nb: Null\nc: ~\nd: ''\n","%YAML 1.2\n---\na: 1\n", "a:\r\n  b: 1\r\n  c: 2\r\n", "a: first\n  second\nb: 'x\n  y'\n", "a: \"\\ud83d\\ude00 \\/ \\x41\"\n", "a: {b: 1,\n c: 2\n}\n", "<<: {a: 1}\nb: 2\n", "a: x\n  b: y\n", "@a: b\n", "a: `x`\n","a: 'it''s'\n", "a: -1\nb: - 1\n", "{a: 1, a: 2}", "a: \"\"\nb: \"x: y\"\n", "a: w/\nb: w/x/\n c: 1\n", "a: env:FOO\nb: http://x:80/\n","null: 1\n", "~: 1\n", "x: !!map {a: 1}\ny: !!seq [1]\nz: !!int 3\n",
 } {
  root,err:=parse(newSource("f",in),[]byte(in))
  fmt.Printf("--- %q\nerr=%v\n%s",in,err,dump(root,""))
 }
 for name,in:=range map[string]string{"[":strings.Repeat("[",1000000),"- ":strings.Repeat("- ",500000),"{":strings.Repeat("{a: ",400000),"? ":strings.Repeat("? ",500000),"&a":strings.Repeat("&a ",500000),"!!":strings.Repeat("!!x ",500000), "plain":"a: "+strings.Repeat("x ",500000), "nl":strings.Repeat("\n",1000000), "seq":"a:\n"+strings.Repeat("- x\n",100000), "map":"a:\n"+strings.Repeat("  ?\n",20000)} {
  st:=time.Now()
  _,err:=parse(newSource("f",in),[]byte(in))
  es:=fmt.Sprint(err); if len(es)>100{es=es[:100]}
  fmt.Println(name, time.Since(st), es)
 }
}
