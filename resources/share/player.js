"use strict";
(() => {
  const MS_PER_STEP = 700;
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const svg = at("frame");
  let view = 0, step = 0, timer = null;

  /** Returns the indices that a text of ranges names: "0-2,7" gives 0, 1, 2, 7. */
  function indices(ranges) {
    const all = [];
    for (const range of ranges ? ranges.split(",") : []) {
      const [first, last = first] = range.split("-").map(Number);
      for (let i = first; i <= last; i++) all.push(i);
    }
    return all;
  }

  function draw() {
    const shown = data.views[view];
    const frame = data.frames[shown.frames[step]];
    svg.setAttribute("viewBox", `0 0 ${frame.size[0]} ${frame.size[1]}`);
    svg.setAttribute("aria-label", `${shown.title}. ${shown.sentences[step]}`);
    svg.innerHTML = indices(frame.elements).map((i) => data.elements[i]).join("");
    at("sentence").textContent = shown.sentences[step];
    at("scrubber").value = step;
    const place = data.steps.length ? data.steps[step].title : "no ring step was recorded";
    at("place").textContent = place;
    at("scrubber").setAttribute("aria-valuetext", place);
    at("views").childNodes.forEach((tab, i) => tab.setAttribute("aria-selected", String(i === view)));
  }

  function goTo(target) {
    step = Math.max(0, Math.min(target, Math.max(0, data.steps.length - 1)));
    draw();
  }

  function setPlaying(playing) {
    if (timer !== null) clearInterval(timer);
    timer = null;
    if (playing) {
      if (step + 1 >= data.steps.length) goTo(0);
      timer = setInterval(() => {
        goTo(step + 1);
        if (step + 1 >= data.steps.length) setPlaying(false);
      }, MS_PER_STEP);
    }
    at("play").textContent = playing ? "⏸ Pause" : "▶ Play";
    at("play").setAttribute("aria-label", playing ? "Pause" : "Play");
  }

  /** Moves to a ring step that the user chose, and stops playing. */
  function take(target) {
    setPlaying(false);
    goTo(target);
  }

  function show(index) {
    if (index < 0 || index >= data.views.length) return;
    view = index;
    draw();
  }

  function setTheme(theme) {
    document.documentElement.className = theme;
    at("theme").textContent = theme === "dark" ? "Light" : "Dark";
    at("theme").setAttribute("aria-pressed", String(theme === "light"));
  }

  function changeTheme() {
    setTheme(document.documentElement.className === "dark" ? "light" : "dark");
  }

  const KEYS = {
    ArrowLeft: () => take(step - 1),
    ArrowRight: () => take(step + 1),
    Home: () => take(0),
    End: () => take(data.steps.length - 1),
    " ": () => setPlaying(timer === null),
    t: changeTheme,
    T: changeTheme,
  };

  function press(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === " " && event.target instanceof HTMLButtonElement) return;
    const digit = /^[1-9]$/.test(event.key) ? Number(event.key) : 0;
    if (digit > data.views.length || (!digit && !Object.hasOwn(KEYS, event.key))) return;
    event.preventDefault();
    if (digit) show(digit - 1);
    else KEYS[event.key]();
  }

  /** Lets the buttons of findings lead to their frames. Hides those of frames that the page lacks. */
  function connectFindings() {
    for (const button of document.querySelectorAll(".lead")) {
      const index = data.views.findIndex((each) => each.name === button.dataset.view);
      const target = data.steps.findIndex((each) => each.position === button.dataset.position);
      button.hidden = index < 0 || target < 0;
      button.addEventListener("click", () => {
        view = index;
        take(target);
        at("player").scrollIntoView();
      });
    }
  }

  data.views.forEach((each, i) => {
    const tab = document.createElement("button");
    tab.textContent = each.title;
    tab.title = i < 9 ? `${each.title} (${i + 1})` : each.title;
    tab.setAttribute("role", "tab");
    tab.addEventListener("click", () => show(i));
    at("views").append(tab);
  });
  at("scrubber").max = Math.max(0, data.steps.length - 1);
  at("scrubber").addEventListener("input", (event) => take(Number(event.target.value)));
  at("first").addEventListener("click", () => take(0));
  at("back").addEventListener("click", () => take(step - 1));
  at("play").addEventListener("click", () => setPlaying(timer === null));
  at("next").addEventListener("click", () => take(step + 1));
  at("last").addEventListener("click", () => take(data.steps.length - 1));
  at("theme").addEventListener("click", changeTheme);
  document.addEventListener("keydown", press);
  connectFindings();
  setTheme(matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark");
  at("player").hidden = data.views.length === 0;
  if (data.views.length) draw();
})();
