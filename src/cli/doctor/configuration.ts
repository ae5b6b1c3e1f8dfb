import { configLines, ConfigError } from "../../config/config-error.ts";
import { reviewConfig } from "../check-config.ts";
import type { DoctorFinding } from "./finding.ts";
import type { LocationOptions } from "../file-locations.ts";
import type { LoadOptions } from "../load-generation.ts";
import { loadConfiguration } from "../load-generation.ts";

/** What of the configuration decides how much the walls around transforms matter. */
export interface TransformUse {
  /** Mappings with a transform; `undefined`: there is no configuration, or none that can be used. */
  readonly count: number | undefined;
  readonly isolation: "process" | "none";
}

export interface ConfigurationFindings {
  readonly findings: readonly DoctorFinding[];
  readonly use: TransformUse;
}

const UNKNOWN_USE: TransformUse = { count: undefined, isolation: "process" };

/** Whether there is a configuration, and whether it could be taken into use. */
export async function configurationFindings(
  options: LocationOptions,
  load: LoadOptions,
): Promise<ConfigurationFindings> {
  const { gateway } = load;
  const { configFile: file } = gateway.locate(options);
  if (!gateway.isConfigured(options)) {
    const message = `there is none at ${file}; write one with: ${gateway.setupCommand}`;
    return { findings: [configurationFinding("warning", message)], use: UNKNOWN_USE };
  }
  try {
    const loaded = await loadConfiguration(options, load);
    const { warnings, audit } = reviewConfig(loaded);
    const { mappings, transforms } = loaded.active.config;
    const found = warnings.length + audit.length;
    return {
      findings: [
        configurationFinding("ok", `${file} is valid`),
        ...(found === 0
          ? []
          : [configurationFinding("warning", `${found} could be better; see: ${gateway.program} check`)]),
      ],
      use: {
        count: mappings.filter(({ transform }) => transform !== undefined).length,
        isolation: transforms.isolation,
      },
    };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return {
      findings: configLines(error.issues).map((message) => configurationFinding("problem", message)),
      use: UNKNOWN_USE,
    };
  }
}

function configurationFinding(level: DoctorFinding["level"], message: string): DoctorFinding {
  return { level, about: "configuration", message };
}
