// Decompress parts of the page, and tell if it can't be shown.

/** Return the bytes of compressed text in an element, and remove the element. */
async function unpacked(element) {
  const text = atob(element.textContent);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  element.remove();
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

/** Show instead of the page why it can't be shown. */
function fail(problem) {
  for (const part of document.querySelectorAll("[data-needs-script]")) part.hidden = true;
  const box = document.getElementById("problem");
  box.hidden = false;
  box.textContent = `This page could not be shown: ${problem.message}. It needs a browser from 2023 or later.`;
  throw problem;
}
