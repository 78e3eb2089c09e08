/** The unchanged examples of the `concat-parts` and the `suffix` documents. */

export const CHECKSUM_EXAMPLE = `{
    "zarr_format": 3,
    "node_type": "array",
    "shape": [1000, 1000],
    "data_type": "uint8",
    "chunk_grid": {
        "name": "regular",
        "configuration": {
            "chunk_shape": [500, 500]
        }
    },
    "chunk_key_encoding": {
        "name": "default",
        "configuration": {
            "separator": "/"
        }
    },
    "codecs": [
        { "name": "zstd" },
        { "name": "crc32c" }
    ],
    "storage_transformers": [
        {
            "name": "concat-parts",
            "configuration": {
                "parts": [
                    { "key_suffix": "" },
                    { "key_suffix": ".crc32c", "size": 4 }
                ]
            }
        }
    ]
}`;

export const SHARDING_EXAMPLE = `{
    "zarr_format": 3,
    "node_type": "array",
    "shape": [10000, 10000],
    "data_type": "uint8",
    "chunk_grid": {
        "name": "regular",
        "configuration": {
            "chunk_shape": [5000, 5000]
        }
    },
    "chunk_key_encoding": { "name": "default" },
    "storage_transformers": [
        {
            "name": "concat-parts",
            "configuration": {
                "parts": [
                    { "key_suffix": ".header", "size": 64 },
                    { "key_suffix": "" },
                    { "key_suffix": ".index", "size": 1604 }
                ]
            }
        }
    ],
    "codecs": [
        {
            "name": "sharding_indexed",
            "configuration": {
                "chunk_shape": [500, 500],
                "index_location": "end",
                "index_codecs": [
                    { "name": "bytes", "configuration": { "endian": "little" } },
                    { "name": "crc32c" }
                ],
                "codecs": [
                    { "name": "packbits" }
                ]
            }
        }
    ]
}`;
