/** A file that browsers run, as its text. */
declare module "*.browser.js" {
  const text: string;
  export default text;
}
