/** How often a row of the reliability plan is tried: `ROUNDS_<ROW>` of the environment, else a size that fits CI. */
export function rounds(row: string, ciSize: number): number {
  const asked = Number(process.env[`ROUNDS_${row}`])
  return Number.isInteger(asked) && asked > 0 ? asked : ciSize
}
