// What a careful reader would find wrong with a page: text that is cut, lies beside the page
// or over other text, words of tables cut in two, drawings without anything in them, and words too
// pale to read.
function faults(page) {
  const found = [];
  const view = page.defaultView, root = page.documentElement;
  const wide = root.clientWidth;
  const named = (node) => (node.textContent || "").trim().slice(0, 40);
  if (root.scrollWidth > wide + 1) found.push(`the page is ${root.scrollWidth} wide, not ${wide}`);

  const texts = [];
  const walker = page.createTreeWalker(page.body, view.NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (!node.textContent.trim()) continue;
    const parent = node.parentElement;
    if (parent.closest("title, style") || !parent.getClientRects().length) continue;
    const range = page.createRange();
    for (const word of parent.closest("td, th") ? node.textContent.matchAll(/\d\S*|[^\s-]+/g) : []) {
      // A longer number, or word, does not fit into every column.
      if (word[0].length > (/^[-\d.,:()[\]]+$/.test(word[0]) ? 40 : 24)) continue;
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
      if (lines.size > 1) found.push(`cut in two: ${word[0]}`);
    }
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      if (box.width < 1 || box.height < 1) continue;
      texts.push({ box, node });
      if (box.left < -1 || box.right > wide + 1) found.push(`beside the page: ${named(node)}`);
    }
  }
  texts.sort((a, b) => a.box.top - b.box.top);
  for (let i = 0; i < texts.length; i++) {
    for (let j = i + 1; j < texts.length && texts[j].box.top < texts[i].box.bottom - 3; j++) {
      const a = texts[i].box, b = texts[j].box;
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (texts[i].node !== texts[j].node && across > 2 && down > 3) {
        found.push(`${named(texts[i].node)} lies over ${named(texts[j].node)}`);
      }
    }
  }
  for (const one of page.body.querySelectorAll("*")) {
    const style = view.getComputedStyle(one);
    if (style.overflowX !== "visible" && one.tagName !== "svg" && one.scrollWidth > one.clientWidth + 1) {
      found.push(`cut: ${named(one)}`);
    }
  }
  for (const drawing of page.querySelectorAll("svg")) {
    const whole = drawing.getBoundingClientRect();
    const marks = [...drawing.querySelectorAll("rect, line:not(.grid), polyline, polygon, circle")]
      .filter((mark) => mark.getBoundingClientRect().width + mark.getBoundingClientRect().height > 0.5);
    if (whole.width < 40 || whole.height < 8 || !marks.length) found.push(`empty drawing near ${named(drawing.parentElement)}`);
    for (const text of drawing.querySelectorAll("text")) {
      const box = text.getBoundingClientRect();
      if (box.left < whole.left - 1 || box.right > whole.right + 1 || box.bottom > whole.bottom + 1) {
        found.push(`outside of its drawing: ${named(text)}`);
      }
      if (box.height < 10.5) found.push(`too small to read: ${named(text)} (${box.height})`);
    }
  }
  const light = ([r, g, b]) => {
    const part = (v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const digits = (colour) => (colour.match(/[\d.]+/g) || []).map(Number);
  for (const { node } of texts) {
    const own = node.parentElement, svg = own.namespaceURI.includes("svg");
    let behind = own;
    const painted = (one) => digits(view.getComputedStyle(one).backgroundColor);
    while (behind && (painted(behind)[3] === 0 || painted(behind).length < 3)) behind = behind.parentElement;
    const [a, b] = [light(digits(svg ? view.getComputedStyle(own).fill : view.getComputedStyle(own).color)),
                    light(behind ? painted(behind) : [255, 255, 255])];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) found.push(`too pale (${contrast.toFixed(1)}): ${named(node)}`);
  }
  return [...new Set(found)];
}
