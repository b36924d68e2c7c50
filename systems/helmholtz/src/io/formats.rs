//! Names of mesh formats that are not read, by their first bytes.

use std::path::Path;

/// Returns what a file is, from its first bytes and from its name; None if neither tells.
///
/// Files of Gmsh and of the program Triangle are None.
pub(super) fn name_of(path: &Path, bytes: &[u8]) -> Option<&'static str> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase();
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    let starts =
        |start: &str| text.get(..start.len()).is_some_and(|first| first.eq_ignore_ascii_case(start.as_bytes()));
    let has = |part: &str| {
        let first = &bytes[..bytes.len().min(2000)];
        first.windows(part.len()).any(|window| window.eq_ignore_ascii_case(part.as_bytes()))
    };
    let of_bytes = match bytes {
        [] => Some("an empty file"),
        [0x1f, 0x8b, ..] => Some("a gzip file"),
        [b'P', b'K', 3, 4, ..] => Some("a Zip archive"),
        [0x89, b'H', b'D', b'F', ..] => Some("an HDF5 file (MED, CGNS, XDMF)"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("text in UTF-16"),
        // The number 1 in either byte order, and the version.
        [1, 0, 0, 0, 1..=4, 0, 0, 0, ..] | [0, 0, 0, 1, 0, 0, 0, 1..=4, ..] => Some("a binary Medit mesh (.meshb)"),
        _ if is_binary_stl(bytes) => Some("a binary STL file"),
        _ => None,
    };
    let of_text = || match () {
        () if starts("# vtk DataFile") => Some("a legacy VTK file"),
        () if starts("<") && has("<VTKFile") => Some("a VTK file in XML"),
        () if starts("<") && has("<Xdmf") => Some("an XDMF file"),
        () if starts("<") => Some("an XML file"),
        () if starts("MeshVersionFormatted") => Some("a Medit mesh (.mesh)"),
        () if starts("solid") => Some("an STL file"),
        () if starts("OFF") || starts("COFF") || starts("NOFF") => Some("an OFF file"),
        () if starts("ply") => Some("a PLY file"),
        () if starts("*HEADING") || starts("*NODE") || starts("*PART") || starts("**") => {
            Some("an Abaqus input file (.inp)")
        }
        () if starts("$NOD\n") || starts("$NOD\r") => Some("a Gmsh mesh in the old format MSH 1"),
        () if starts("(0 ") || starts("(2 ") || starts("(1 ") => Some("an ANSYS Fluent mesh"),
        () if starts("ISO-10303") => Some("a STEP geometry"),
        () if starts("version https://git-lfs") => Some("a Git LFS pointer, and not the file itself"),
        () if starts("BEGIN BULK") || starts("CEND") || has("GRID,") || has("\nGRID ") => Some("a Nastran file"),
        () if has("\nPoint(") || has("SetFactory(") || starts("Point(") => Some("a Gmsh geometry (.geo)"),
        () => None,
    };
    let of_name = || match ending.as_str() {
        "vtk" => Some("a legacy VTK file"),
        "vtu" => Some("a VTK file in XML"),
        "mesh" => Some("a Medit mesh (.mesh)"),
        "stl" => Some("an STL file"),
        "obj" => Some("a Wavefront OBJ file"),
        "inp" => Some("an Abaqus input file (.inp)"),
        "geo" => Some("a Gmsh geometry (.geo)"),
        "unv" => Some("a UNV file"),
        "bdf" | "nas" => Some("a Nastran file"),
        "su2" => Some("an SU2 mesh"),
        _ => None,
    };
    // The content counts more than the name.
    of_bytes.or_else(of_text).or_else(|| if starts("$") { None } else { of_name() })
}

/// Returns the way out of a format that is not read.
pub(super) fn remedy(path: &Path, name: &str) -> String {
    let path = path.display();
    match name {
        "an empty file" => "write the mesh anew".to_owned(),
        "a gzip file" | "a Zip archive" => "unpack it first".to_owned(),
        "text in UTF-16" => "save it as UTF-8".to_owned(),
        name if name.starts_with("a Git LFS") => "run git lfs pull".to_owned(),
        name if name.ends_with("(.geo)") || name.ends_with("geometry") => {
            format!("mesh it: gmsh -2 -format msh41 {path} -o new.msh")
        }
        name if name.starts_with("a Gmsh mesh") => format!("save it anew: gmsh {path} -save -format msh41 -o new.msh"),
        // Gmsh writes some of these formats, and reads none.
        name if ["VTK file in XML", "XDMF", "XML", "SU2", "Abaqus", "Fluent"]
            .iter()
            .any(|part| name.contains(part)) =>
        {
            format!("convert it: meshio convert --output-format gmsh22 --ascii {path} new.msh")
        }
        _ => format!("convert it: gmsh {path} -save -format msh41 -o new.msh"),
    }
}

/// A header of 80 bytes, the number of triangles, and 50 bytes for each.
fn is_binary_stl(bytes: &[u8]) -> bool {
    let triangles = bytes.get(80..).and_then(|rest| rest.first_chunk()).map(|&count| u32::from_le_bytes(count));
    triangles.is_some_and(|triangles| triangles > 0 && bytes.len() as u64 == 84 + 50 * u64::from(triangles))
}

#[cfg(test)]
mod tests {
    use crate::io::read_mesh;

    #[test]
    fn other_formats_are_refused_by_name_with_a_remedy() {
        let folder = tempfile::tempdir().expect("a folder");
        let binary_stl = [&[b' '; 80][..], &1_u32.to_le_bytes(), &[0; 50]].concat();
        for (name, bytes, told, remedy) in [
            (
                "a.vtk",
                &b"# vtk DataFile Version 3.0\nplate\nASCII\n"[..],
                "a legacy VTK file",
                "a.vtk -save -format msh41",
            ),
            ("a.msh", b"# vtk DataFile Version 5.1\n", "a legacy VTK file", "-save -format msh41"),
            (
                "a.vtu",
                b"<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\">",
                "a VTK file in XML",
                "meshio convert",
            ),
            ("a.mesh", b"\nMeshVersionFormatted 2\nDimension 2\n", "a Medit mesh (.mesh)", "gmsh"),
            ("a.meshb", b"\x01\0\0\0\x02\0\0\0", "a binary Medit mesh", "gmsh"),
            ("a.stl", b"solid plate\n facet normal 0 0 1\n", "an STL file", "gmsh"),
            ("b.stl", &binary_stl, "a binary STL file", "gmsh"),
            ("a.off", b"OFF\n4 2 0\n", "an OFF file", "gmsh"),
            ("a.ply", b"ply\nformat ascii 1.0\n", "a PLY file", "gmsh"),
            (
                "a.inp",
                b"*Heading\n** Job name: plate\n*Node\n1, 0., 0.\n",
                "an Abaqus input file (.inp)",
                "meshio convert",
            ),
            ("a.msh", b"$NOD\n4\n1 0 0 0\n", "a Gmsh mesh in the old format MSH 1", "gmsh"),
            ("a.msh", b"(0 \"Fluent\")\n(2 2)\n", "an ANSYS Fluent mesh", "meshio convert"),
            (
                "a.geo",
                b"// a plate\nPoint(1) = {0, 0, 0};\n",
                "a Gmsh geometry (.geo)",
                "mesh it: gmsh -2 -format msh41",
            ),
            ("a.med", b"\x89HDF\r\n\x1a\n", "an HDF5 file", "gmsh"),
            ("a.msh", b"\x1f\x8b\x08\0", "a gzip file", "unpack it first"),
            ("a.msh", b"", "an empty file", "write the mesh anew"),
        ] {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).expect("a file");
            let error = read_mesh(&path).expect_err(name).to_string();
            let start = format!("{}: this is {told}", path.display());
            assert!(error.starts_with(&start) && error.contains("MSH 4.1 or 2.2"), "{error}");
            assert!(error.contains(remedy), "{error}");
        }
        let path = folder.path().join("a.txt");
        std::fs::write(&path, "0 0\n1 0\n").expect("a file");
        let error = read_mesh(&path).expect_err("no mesh").to_string();
        assert!(
            error.contains("a.txt: this is no mesh that is read, and there is no ") && error.contains("a.txt.node")
        );
    }

    #[test]
    fn meshes_of_gmsh_have_any_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("plate.mesh");
        let nodes = "$Nodes\n3\n1 0 0 0\n2 1 0 0\n3 0 1 0\n$EndNodes\n";
        let text =
            format!("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n{nodes}$Elements\n1\n1 2 2 0 1 1 2 3\n$EndElements\n");
        // The content counts, and not the name of Medit's.
        std::fs::write(&path, &text).expect("a file");
        assert_eq!(read_mesh(&path).expect("a mesh").0.triangles, [[0, 1, 2]]);
    }
}
