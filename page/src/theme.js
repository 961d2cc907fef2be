// Light or dark: as the system has it, until somebody chooses. Charts ask for their colours here.

const choices = ["system", "light", "dark"];
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");
let choice = "system";
let colours = null;

// `changed` is called whenever other colours are shown.
export function startTheme(button, changed) {
  try { choice = localStorage.getItem("kalstream-theme") ?? "system"; } catch { /* as the system has it */ }
  if (!choices.includes(choice)) choice = "system";
  const show = () => {
    const dark = choice === "dark" || (choice === "system" && systemIsDark.matches);
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    button.textContent = { system: "Auto", light: "Light", dark: "Dark" }[choice];
    button.title = "Colours: as the system has them, light or dark";
    colours = null;
    changed();
  };
  button.addEventListener("click", () => {
    choice = choices[(choices.indexOf(choice) + 1) % choices.length];
    try { localStorage.setItem("kalstream-theme", choice); } catch { /* not kept */ }
    show();
  });
  systemIsDark.addEventListener("change", show);
  show();
}

// colour("target"): the value of --target now.
export function colour(name) {
  colours ??= {};
  colours[name] ??= getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  return colours[name];
}
