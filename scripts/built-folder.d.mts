export function builtFolder(): string | undefined;
