/* Starts the documentation viewer, with a tab for each sample of an operation and a button that copies it. */
/* global SwaggerUIBundle */

/** The viewer's syntax highlighting; it has neither TypeScript nor Python, and the former is close to JavaScript. */
const HIGHLIGHTING = { Shell: "bash", TypeScript: "javascript" };
/** The key under which the browser remembers the chosen tab, for all operations. */
const STORAGE_KEY = "samples";

const samplesPlugin = ({ React }) => ({
  wrapComponents: {
    responses: (Responses) => (props) => {
      const samples = props.specSelectors.specJson().getIn(["paths", props.path, props.method, "x-codeSamples"]);
      const own = samples && React.createElement(Samples, { samples: samples.toJS(), getComponent: props.getComponent, React });
      return React.createElement(React.Fragment, null, own, React.createElement(Responses, props));
    },
  },
});

function Samples({ samples, getComponent, React }) {
  const [chosen, choose] = React.useState(() => localStorage.getItem(STORAGE_KEY));
  const shown = samples.find(({ label }) => label === chosen) ?? samples[0];
  const HighlightCode = getComponent("HighlightCode", true);
  const tab = ({ label }) => {
    const onClick = () => {
      localStorage.setItem(STORAGE_KEY, label);
      choose(label);
    };
    const isShown = label === shown.label;
    // The dark theme darkens a plain button's text too.
    const look = isShown ? { className: "btn execute" } : { className: "btn", style: { color: "inherit" } };
    return React.createElement("button", { key: label, type: "button", role: "tab", "aria-selected": isShown, ...look, onClick }, label);
  };
  return React.createElement(
    "div",
    { className: "samples" },
    React.createElement("div", { className: "opblock-section-header" }, React.createElement("h4", null, "Examples")),
    React.createElement(
      "div",
      { style: { padding: 20 } },
      React.createElement("div", { role: "tablist", style: { marginBottom: 10 } }, samples.map(tab)),
      React.createElement(
        HighlightCode,
        { canCopy: true, language: HIGHLIGHTING[shown.lang] ?? "plaintext", key: shown.label },
        shown.source,
      ),
    ),
  );
}

/** The viewer leaves the choice of its dark theme to the page. */
const darkMode = matchMedia("(prefers-color-scheme: dark)");
const applyColorScheme = () => document.documentElement.classList.toggle("dark-mode", darkMode.matches);
applyColorScheme();
darkMode.addEventListener("change", applyColorScheme);

// Former versions of this page kept the API key here.
localStorage.removeItem("authorized");

SwaggerUIBundle({
  url: "/api/v1/openapi.json",
  dom_id: "#viewer",
  plugins: [samplesPlugin],
  deepLinking: true,
  tryItOutEnabled: true,
  // An API key that is entered stays in memory: it is gone when the page is closed.
  persistAuthorization: false,
  validatorUrl: null,
});
