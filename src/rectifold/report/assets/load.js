// Run the scripts of the page, which are stored in compressed form.

Promise.all(Array.from(document.querySelectorAll("script.code"), unpacked)).then((scripts) => {
  for (const bytes of scripts) {
    const script = document.createElement("script");
    script.textContent = new TextDecoder().decode(bytes);
    document.body.append(script);
  }
}).catch(fail);
