"use strict";
// Reads the page again while something is going on, and replaces what stands in it: no reload, so the focus stays.
(() => {
  const PAUSE = 2000;

  const step = async () => {
    const shown = document.getElementById("syncova-now");
    if (!shown || shown.dataset.live !== "yes") {
      return;
    }
    if (!document.hidden && !shown.contains(document.activeElement)) {
      await renew(shown);
    }
    window.setTimeout(step, PAUSE);
  };

  const renew = async (shown) => {
    try {
      const answer = await fetch(window.location.href, { credentials: "same-origin", cache: "no-store" });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const now = answer.ok ? page.getElementById("syncova-now") : null;
      if (now) {
        shown.replaceWith(document.adoptNode(now));
      }
    } catch {
      // The server is away for a moment: what is shown stays, and the next look comes.
    }
  };

  document.addEventListener("DOMContentLoaded", () => window.setTimeout(step, PAUSE));
})();
