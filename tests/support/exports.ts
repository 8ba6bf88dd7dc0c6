import ts from 'typescript'

/** An exported declaration of a file; re-exports are none. */
export interface ExportedDeclaration {
  readonly file: string
  readonly name: string
  readonly node: ts.DeclarationStatement | ts.VariableStatement
}

/** Returns the declarations that the file exports. */
export function exportedDeclarations(file: string, source: string): readonly ExportedDeclaration[] {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true)
  return tree.statements
    .filter(isExported)
    .flatMap((node): ExportedDeclaration[] =>
      ts.isVariableStatement(node)
        ? node.declarationList.declarations.map(({ name }) => ({ file, name: name.getText(tree), node }))
        : [{ file, name: node.name?.getText(tree) ?? 'default', node }],
    )
}

/** Returns the names that the file re-exports from others. */
export function reexportedNames(file: string, source: string): readonly string[] {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true)
  return tree.statements
    .filter(ts.isExportDeclaration)
    .flatMap(({ exportClause }) =>
      exportClause !== undefined && ts.isNamedExports(exportClause)
        ? exportClause.elements.map(({ name, propertyName }) => (propertyName ?? name).text)
        : [],
    )
}

/** Returns the names without a docstring: of the declaration, and of those of its members that `isChecked` selects. */
export function undocumentedNames(
  { file, name, node }: ExportedDeclaration,
  isChecked: (member: ts.TypeElement) => boolean,
): readonly string[] {
  const own = hasDocstring(node) ? [] : [`${file}: ${name}`]
  const members = membersOfType(node).filter((member) => isChecked(member) && !hasDocstring(member))
  return [...own, ...members.map((member) => `${file}: ${name}.${member.name?.getText() ?? '()'}`)]
}

/** Whether the member can be called. */
export function isMethod(member: ts.TypeElement): boolean {
  if (ts.isMethodSignature(member) || ts.isCallSignatureDeclaration(member)) return true
  return ts.isPropertySignature(member) && member.type !== undefined && ts.isFunctionTypeNode(member.type)
}

/** Returns a line for each name that several files declare, with the files. */
export function repeatedNames(declarations: readonly ExportedDeclaration[]): readonly string[] {
  const files = new Map<string, Set<string>>()
  for (const { name, file } of declarations) files.set(name, (files.get(name) ?? new Set()).add(file))
  return [...files]
    .filter(([, found]) => found.size > 1)
    .map(([name, found]) => `${name}: ${[...found].join(', ')}`)
}

function isExported(node: ts.Statement): node is ExportedDeclaration['node'] {
  return (
    ts.canHaveModifiers(node) &&
    (ts.getModifiers(node) ?? []).some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
  )
}

function membersOfType(node: ts.Node): readonly ts.TypeElement[] {
  if (ts.isInterfaceDeclaration(node)) return node.members
  return ts.isTypeAliasDeclaration(node) && ts.isTypeLiteralNode(node.type) ? node.type.members : []
}

function hasDocstring(node: ts.Node): boolean {
  return ts
    .getJSDocCommentsAndTags(node)
    .some((comment) => ts.isJSDoc(comment) && comment.comment !== undefined)
}
