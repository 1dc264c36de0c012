"""Whether people can use a page: contrast in both themes, labels of fields, headings, the keyboard.

Owns the questions, which a script asks within the page. Looks at what our pages show, not at the frame around it.
"""

from tests.browser.driver import Browser

# The least contrast of text by WCAG 2 (AA); of large text it would be 3.
_LEAST = 4.5
_SCRIPT = """
const found = [];
const numbers = (colour) => (colour.match(/[0-9.]+/g) || []).map(Number);
const light = (colour) => {
  const [r, g, b] = numbers(colour).slice(0, 3).map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (element) => {
  for (let each = element; each; each = each.parentElement) {
    const colour = getComputedStyle(each).backgroundColor;
    const parts = numbers(colour);
    if (parts.length === 3 || parts[3] === 1) { return colour; }
  }
  return "rgb(255, 255, 255)";
};
const own = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
const seen = (element) => element.getClientRects().length > 0;
const all = [...document.querySelectorAll("main *")].filter(seen);
for (const theme of ["light", "dark"]) {
  document.documentElement.dataset.theme = theme;
  for (const element of all.filter((each) => own(each) || ["INPUT", "TEXTAREA"].includes(each.tagName))) {
    element.style.transition = "none";
    const [one, two] = [light(getComputedStyle(element).color), light(behind(element))].sort((a, b) => b - a);
    const ratio = (one + 0.05) / (two + 0.05);
    if (ratio < arguments[0]) {
      const what = `${element.tagName} ${element.className}: ${element.textContent.slice(0, 40)}`;
      found.push(`${theme}: contrast ${ratio.toFixed(2)} of ${what}`);
    }
  }
}
document.documentElement.dataset.theme = "auto";
for (const field of all.filter((each) => ["INPUT", "TEXTAREA", "SELECT"].includes(each.tagName))) {
  const named = (field.labels && field.labels.length) || field.getAttribute("aria-label") || field.type === "submit";
  if (!named) { found.push(`no label: ${field.name}`); }
}
const headings = all.filter((each) => /^H[1-6]$/.test(each.tagName)).map((each) => Number(each.tagName[1]));
if (headings.filter((level) => level === 1).length !== 1) { found.push("not one heading of the page"); }
headings.reduce((before, level) => {
  if (level > before + 1) { found.push(`h${level} after h${before}`); }
  return level;
}, 0);
const dead = all.filter((each) => (each.tagName === "A" && !each.href) || (each.onclick && each.tabIndex < 0));
dead.forEach((each) => found.push(`out of the keyboard's reach: ${each.textContent.slice(0, 40)}`));
return found;
"""


def flaws(browser: Browser) -> list[str]:
    """Return what stands in the way of reading and using the page."""
    return list(browser.run(_SCRIPT.replace("arguments[0]", str(_LEAST))))
