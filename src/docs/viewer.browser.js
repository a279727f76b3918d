/* Starts the documentation viewer, with the samples of each operation: one tab each, and a button that copies. */
/* global SwaggerUIBundle */

/** How the viewer colours a sample; it knows neither TypeScript nor Python, and the former is close to JavaScript. */
const COLOURS = { Shell: "bash", TypeScript: "javascript" };
/** Remembers which tab was chosen, for every operation. */
const CHOICE = "samples";

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
  const [chosen, choose] = React.useState(() => localStorage.getItem(CHOICE));
  const shown = samples.find(({ label }) => label === chosen) ?? samples[0];
  const HighlightCode = getComponent("HighlightCode", true);
  const tab = ({ label }) => {
    const onClick = () => {
      localStorage.setItem(CHOICE, label);
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
      React.createElement(HighlightCode, { canCopy: true, language: COLOURS[shown.lang] ?? "plaintext", key: shown.label }, shown.source),
    ),
  );
}

/** The viewer has a dark theme, and leaves it to the page to choose. */
const darkness = matchMedia("(prefers-color-scheme: dark)");
const followDarkness = () => document.documentElement.classList.toggle("dark-mode", darkness.matches);
followDarkness();
darkness.addEventListener("change", followDarkness);

SwaggerUIBundle({
  url: "/api/v1/openapi.json",
  dom_id: "#viewer",
  plugins: [samplesPlugin],
  deepLinking: true,
  tryItOutEnabled: true,
  persistAuthorization: true,
  validatorUrl: null,
});
