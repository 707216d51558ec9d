/** Reads a whole number above 0 from the command line. @throws Error */
export function positive(option: string | undefined, fallback: number): number {
  const value = Number(option ?? fallback);
  if (!Number.isSafeInteger(value) || value < 1) throw new Error(`${option} must be a whole number above 0`);
  return value;
}
