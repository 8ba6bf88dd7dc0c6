const { SwaggerUIBundle } = globalThis

SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#page',
  deepLinking: true,
  // Both would need the policy to allow HTML from a string.
  syntaxHighlight: false,
  plugins: [textInsteadOfMarkup],
})

/** The policy allows no HTML from a string (`require-trusted-types-for`): show descriptions as text. */
function textInsteadOfMarkup({ React }) {
  const Markdown = ({ source }) => React.createElement('div', { className: 'markdown' }, source)
  return { components: { Markdown, LargeMarkdown: Markdown } }
}
