# Frames of a terminal as one SVG picture: text with colours as control sequences in, SVG out. Frames are separated by a line
# with a form feed; several are shown in turns. Variables: columns, rows, seconds (of each frame).

function escaped(text) {
  gsub(/&/, "\\&amp;", text)
  gsub(/</, "\\&lt;", text)
  gsub(/>/, "\\&gt;", text)
  return text
}

# The number of characters of a UTF-8 text, whether awk counts bytes or characters.
function characters(text) {
  if (bytes) gsub(/[\200-\277]/, "", text)
  return length(text)
}

function put(text, style,    class, x, y, wide) {
  wide = characters(text)
  if (wide == 0) return
  x = margin + column * cell
  y = margin + row * line
  class = ""
  if (style ~ /;1[;m]/) class = class " b"
  if (style ~ /;2[;m]/) class = class " f"
  if (style ~ /;31m/) class = class " r"
  if (style ~ /;32m/) class = class " g"
  if (style ~ /;33m/) class = class " y"
  if (style ~ /;7[;m]/) {
    printf "<rect class=\"s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>", x, y, wide * cell, line
  }
  if (text !~ /^ *$/) {
    printf "<text class=\"t%s\" x=\"%.1f\" y=\"%.1f\" textLength=\"%.1f\">%s</text>", class, x, y + line * 0.75, wide * cell, escaped(text)
  }
  column += wide
}

function show(text,    at, rest, style) {
  column = 0
  style = "\033[0m"
  while ((at = index(text, "\033[")) > 0) {
    put(substr(text, 1, at - 1), style)
    rest = substr(text, at)
    at = index(rest, "m")
    style = substr(rest, 1, at)
    text = substr(rest, at + 1)
  }
  put(text, style)
  printf "\n"
  row++
}

BEGIN {
  bytes = length("─") > 1
  cell = 8.4
  line = 18
  margin = 12
  count = 1
  row = 0
}

$0 == "\f" { count++; next }

{ lines[count, ++height[count]] = $0 }

END {
  wide = columns * cell + 2 * margin
  high = rows * line + 2 * margin
  printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %d\" width=\"%.0f\" height=\"%d\">\n", wide, high, wide, high
  print "<style>"
  print ".t{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans Mono\",monospace;fill:#d8dee9;white-space:pre}"
  print ".b{font-weight:bold}.f{fill:#8a94a6}.r{fill:#f07178}.g{fill:#a3d977}.y{fill:#ffcb6b}.s{fill:#3b4252}"
  if (count > 1) {
    share = 100 / count
    printf "@keyframes turn{0%%{opacity:1}%.3f%%{opacity:1}%.3f%%{opacity:0}100%%{opacity:0}}\n", share - 0.01, share
    printf ".frame{opacity:0;animation:turn %gs infinite steps(1)}\n", count * seconds
  }
  print "</style>"
  printf "<rect width=\"100%%\" height=\"100%%\" rx=\"8\" fill=\"#1e222a\"/>\n"
  for (frame = 1; frame <= count; frame++) {
    row = 0
    if (count > 1) printf "<g class=\"frame\" style=\"animation-delay:%gs\">\n", (frame - 1) * seconds
    else print "<g>"
    for (at = 1; at <= height[frame]; at++) show(lines[frame, at])
    print "</g>"
  }
  print "</svg>"
}
